package lab

import "strings"

// NamespaceName is the name under /run/netns of a node's namespace in a named lab: NAME-NODE, with what a file name should not
// hold replaced by underscores.
func NamespaceName(lab, node string) string { return lab + "-" + fileName(node) }

func fileName(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '_'
	}, s)
}
