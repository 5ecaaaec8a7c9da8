package cli

import "strings"

// asciiAlone reports whether the terminal shows nothing but ASCII: the locale says another charset than UTF-8, or the terminal is older than that. A locale
// that is not set, as often over ssh, says nothing.
func asciiAlone(getenv func(string) string) bool {
	term := getenv("TERM")
	if term == "ansi" || len(term) > 2 && term[:2] == "vt" && term[2] >= '0' && term[2] <= '9' {
		return true
	}
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} { // in this order: POSIX, 8.2
		if v := getenv(name); v != "" {
			return !strings.Contains(strings.ReplaceAll(strings.ToLower(v), "-", ""), "utf8")
		}
	}
	return false
}
