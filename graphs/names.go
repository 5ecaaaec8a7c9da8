package graphs

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxName is the longest name of a node, port or group in bytes. LLDP allows 255 (IEEE 802.1AB 8.5).
const MaxName = 255

func checkName(what, name, forbidden string) error {
	switch {
	case name == "":
		return fmt.Errorf("a %s has an empty name", what)
	case len(name) > MaxName:
		return fmt.Errorf("%s name %q... is longer than %d bytes", what, Clean(name[:32]), MaxName)
	case Clean(name) != name:
		return fmt.Errorf("%s name %q has control characters", what, Clean(name))
	case strings.ContainsAny(name, forbidden):
		return fmt.Errorf("%s name %q holds one of the marks %q", what, name, forbidden)
	}
	return nil
}

// Clean makes a string that came from the network or from a file safe to print: control and format characters (which move the
// cursor, change colours or the direction of writing) and invalid UTF-8 become U+FFFD, and what is longer than [MaxName] is cut.
func Clean(s string) string {
	if len(s) > MaxName {
		s = strings.ToValidUTF8(s[:MaxName-3], "") + "..."
	}
	return Printable(s)
}

// Printable is [Clean] for a whole line, such as an error: it cuts nothing.
func Printable(s string) string {
	if strings.IndexFunc(s, hostile) < 0 && utf8.ValidString(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if hostile(r) {
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(s, string(utf8.RuneError)))
}

func hostile(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029'
}
