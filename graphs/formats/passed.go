package formats

import (
	"maps"
	"slices"

	"whichlink/graphs"
)

// passed counts what a reader passes over, by what it is.
type passed map[string]int

// add counts one more of a kind of things, whose name is in the plural.
func (p passed) add(what string) { p[what]++ }

// note says in the end what was passed over.
func (p passed) note(f *File) {
	const most = 10
	rest := 0
	for i, what := range slices.Sorted(maps.Keys(p)) {
		if i >= most {
			rest += p[what]
			continue
		}
		f.note("%d %s: passed over", p[what], graphs.Clean(what))
	}
	if rest > 0 {
		f.note("%d other things: passed over", rest)
	}
}
