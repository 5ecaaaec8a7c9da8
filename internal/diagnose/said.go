package diagnose

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"whichlink/graphs"
)

// said is what sources have to say in words: by what is said but for durations, who says it and how. Many switches of one make say the same of themselves, which
// is told once.
type said map[string]map[string]string

var durations = regexp.MustCompile(`\b([0-9.]+(h|m|s|ms|µs))+\b`)

// maxWords bounds the different notes of sources that are kept, mostSayers how many are remembered to say the same, and namedSayers how many are named.
const (
	maxWords    = 40
	mostSayers  = 10_000
	namedSayers = 4
)

// add takes in a note. A source that begins with its own name says the rest of itself.
func (s said) add(by, text string) {
	text = graphs.Clean(text)
	rest, ofItself := strings.CutPrefix(text, graphs.Clean(by)+" ")
	same := durations.ReplaceAllString(rest, "#")
	if !ofItself || by == "" {
		by, rest, same = "", text, text
	}
	if s[same] == nil {
		s[same] = map[string]string{}
		bound(s, maxWords)
	}
	by = graphs.Clean(by)
	if old, known := s[same][by]; s[same] == nil || known && old <= rest {
		return
	}
	s[same][by] = rest
	bound(s[same], mostSayers)
}

// bound forgets the last one where there are too many: which those are does not depend on what was read first.
func bound[T any](m map[string]T, most int) {
	if len(m) <= most {
		return
	}
	last := ""
	for k := range m {
		last = max(last, k)
	}
	delete(m, last)
}

// notes are the notes in the order of their words.
func (s said) notes() []string {
	var list []string
	for _, by := range s {
		names := slices.Sorted(maps.Keys(by))
		text := by[names[0]]
		alike := !slices.ContainsFunc(names, func(n string) bool { return by[n] != text })
		switch n := len(names); {
		case names[0] == "":
			list = append(list, text)
		case n == 1:
			list = append(list, names[0]+" "+text)
		case !alike:
			list = append(list, fmt.Sprintf("%s %s; likewise %s", names[0], text, firstOf(names[1:], namedSayers-1)))
		case n > namedSayers:
			list = append(list, fmt.Sprintf("%s and %d more: each %s", strings.Join(names[:namedSayers], ", "), n-namedSayers, text))
		default:
			list = append(list, fmt.Sprintf("%s: each %s", strings.Join(names, ", "), text))
		}
	}
	slices.Sort(list)
	return list
}
