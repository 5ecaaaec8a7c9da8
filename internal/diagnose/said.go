package diagnose

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"whichlink/graphs"
)

// said is what sources have to say in words: who says it, by what is said. Many switches of one make say the same of themselves, which is told once.
type said map[string]map[string]bool

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
	if !ofItself || by == "" {
		by, rest = "", text
	}
	if s[rest] == nil {
		if len(s) >= maxWords {
			return
		}
		s[rest] = map[string]bool{}
	}
	if len(s[rest]) < mostSayers {
		s[rest][graphs.Clean(by)] = true
	}
}

// notes are the notes in the order of their words.
func (s said) notes() []string {
	var list []string
	for text, by := range s {
		names := slices.Sorted(maps.Keys(by))
		names = slices.DeleteFunc(names, func(n string) bool { return n == "" })
		switch n := len(names); {
		case n == 0:
			list = append(list, text)
		case n > namedSayers:
			list = append(list, fmt.Sprintf("%s and %d more: each %s", strings.Join(names[:namedSayers], ", "), n-namedSayers, text))
		case n > 1:
			list = append(list, fmt.Sprintf("%s: each %s", strings.Join(names, ", "), text))
		default:
			list = append(list, names[0]+" "+text)
		}
	}
	slices.Sort(list)
	return list
}
