package lab

import (
	"fmt"
	"regexp"
	"strings"

	"whichlink/graphs"
)

// goodName is what a lab may be called. Its names of files and namespaces stay short and need no quoting.
var goodName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$`)

// CheckName returns what is wrong with the name of a lab.
func CheckName(name string) error {
	if !goodName.MatchString(name) {
		return fmt.Errorf("the lab's name %q is not 1 to 32 letters, digits, dots, dashes and underscores, beginning with a letter or digit", graphs.Clean(name))
	}
	return nil
}

// NamespaceNames returns, by node, the names under /run/netns of the namespaces of a named lab: NAME-NODE, with what a file name
// should not hold replaced by underscores, and a number behind it where two nodes would have the same.
func NamespaceNames(lab string, f *graphs.Fabric) []string {
	names := make([]string, f.NumNodes())
	taken := map[string]bool{}
	for n := range names {
		base := lab + "-" + fileName(f.NodeName(graphs.NodeID(n)))
		name := base
		for i := 2; taken[name]; i++ {
			name = fmt.Sprintf("%s-%d", base, i)
		}
		taken[name] = true
		names[n] = name
	}
	return names
}

func fileName(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '_'
	}, s)
	return s[:min(len(s), 200)] // a file name has at most 255 bytes
}
