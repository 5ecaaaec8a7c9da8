package formats

import (
	"fmt"
	"strconv"
	"strings"

	"whichlink/graphs"
)

// maxNames is how many names the lists of one file may stand for, all together.
const maxNames = 1_000_000

// A hostlist writes many names in few letters, as Slurm does: rack[1-4]node[01-16,20],login. The budget is how many names may still come.
type hostlist struct{ budget int }

// expand lists the names that a list stands for.
func (h *hostlist) expand(list string) ([]string, error) {
	var names []string
	for _, word := range splitOutside(list) {
		some, err := h.expandWord(word)
		if err != nil {
			return nil, err
		}
		names = append(names, some...)
	}
	return names, nil
}

// splitOutside cuts a list at its commas outside of brackets.
func splitOutside(list string) []string {
	var words []string
	depth, start := 0, 0
	for i := range len(list) + 1 {
		switch {
		case i == len(list), list[i] == ',' && depth <= 0:
			if word := strings.TrimSpace(list[start:i]); word != "" {
				words = append(words, word)
			}
			start = i + 1
		case list[i] == '[':
			depth++
		case list[i] == ']':
			depth--
		}
	}
	return words
}

func (h *hostlist) expandWord(word string) ([]string, error) {
	names := []string{""}
	for rest := word; rest != ""; {
		fixed, after, open := strings.Cut(rest, "[")
		if strings.Contains(fixed, "]") {
			return nil, fmt.Errorf("%q has a ] without a [", graphs.Clean(word))
		}
		inside, after, closed := strings.Cut(after, "]")
		if open && (!closed || strings.Contains(inside, "[")) {
			return nil, fmt.Errorf("%q has a [ without a ]", graphs.Clean(word))
		}
		choices := []string{""}
		if open {
			var err error
			if choices, err = h.ranges(inside, word); err != nil {
				return nil, err
			}
		}
		if len(names[0])+len(fixed) > graphs.MaxName {
			return nil, fmt.Errorf("%q is longer than %d bytes", graphs.Clean(word[:32]), graphs.MaxName)
		}
		if len(names)*len(choices) > h.budget {
			return nil, h.tooMany()
		}
		longer := make([]string, 0, len(names)*len(choices))
		for _, n := range names {
			for _, c := range choices {
				longer = append(longer, n+fixed+c)
			}
		}
		names, rest = longer, after
	}
	h.budget -= len(names)
	return names, nil
}

// ranges lists the numbers of a bracket such as 01-16,20, with the zeros in front that the first of a range has.
func (h *hostlist) ranges(inside, word string) ([]string, error) {
	const digits = 18 // what an int64 holds
	var numbers []string
	for part := range strings.SplitSeq(inside, ",") {
		low, high, isRange := strings.Cut(strings.TrimSpace(part), "-")
		if !isRange {
			high = low
		}
		first, err := strconv.ParseUint(low, 10, 63)
		last, err2 := strconv.ParseUint(high, 10, 63)
		if err != nil || err2 != nil || len(low) > digits || len(high) > digits {
			return nil, fmt.Errorf("%q has %q between brackets, expected numbers and ranges such as [1-16,20]", graphs.Clean(word), graphs.Clean(part))
		}
		if last < first {
			return nil, fmt.Errorf("%q has the range %s, which runs backwards", graphs.Clean(word), graphs.Clean(part))
		}
		if last-first >= uint64(h.budget) || len(numbers)+int(last-first) >= h.budget {
			return nil, h.tooMany()
		}
		for n := first; n <= last; n++ {
			numbers = append(numbers, fmt.Sprintf("%0*d", len(low), n))
		}
	}
	return numbers, nil
}

func (h *hostlist) tooMany() error {
	return fmt.Errorf("the lists of this file stand for more than %d names, which no cluster has", maxNames)
}
