package whatif

import (
	"fmt"
	"strings"

	"whichlink/graphs"
)

// A Kind says what is named.
type Kind string

// The kinds of things that fail or are drained. A cable is a link, or the shared-risk group of its lanes.
const (
	KindNode  Kind = "node"
	KindLink  Kind = "link"
	KindGroup Kind = "group"
)

// A Thing fails or is drained as a whole. It is made by Find.
type Thing struct {
	Kind Kind
	Name string
	node graphs.NodeID // or None
	// links are those that go with it.
	links []graphs.LinkID
}

// Find finds a node, a link or a shared-risk group by its name: as it stands, or after "node=", "link=" or "group=" where the name alone is
// ambiguous. A link is called a:p--b:q, with its ends in either order, or a--b where it is the only one between two nodes.
func Find(f *graphs.Fabric, name string) (Thing, error) {
	var found []Thing
	for _, kind := range []Kind{KindNode, KindLink, KindGroup} {
		for _, bare := range []string{name, strings.TrimPrefix(name, string(kind)+"=")} {
			if t, ok := lookUp(f, kind, bare); ok {
				found = append(found, t)
				break
			}
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		var ways []string
		for _, t := range found {
			ways = append(ways, string(t.Kind)+"="+t.Name)
		}
		return Thing{}, fmt.Errorf("%q is ambiguous: say %s", graphs.Clean(name), strings.Join(ways, " or "))
	}
	if between := linksBetween(f, name); len(between) == 1 {
		return linkThing(f, between[0]), nil
	} else if len(between) > 1 {
		return Thing{}, fmt.Errorf("%q is ambiguous: there are %d links, from %s to %s", graphs.Clean(name), len(between),
			f.LinkName(between[0]), f.LinkName(between[len(between)-1]))
	}
	return Thing{}, fmt.Errorf("no node, link or shared-risk group of fabric %s is called %q", f.Name(), graphs.Clean(name))
}

func lookUp(f *graphs.Fabric, kind Kind, name string) (Thing, bool) {
	switch kind {
	case KindNode:
		n, ok := f.NodeByName(name)
		if !ok {
			return Thing{}, false
		}
		t := Thing{Kind: kind, Name: name, node: n}
		for _, a := range f.Out(n) {
			t.links = append(t.links, a.Link())
		}
		return t, true
	case KindLink:
		if l, ok := f.LinkByName(name); ok {
			return linkThing(f, l), true
		}
	case KindGroup:
		for g := range graphs.GroupID(f.NumGroups()) {
			if f.Group(g).Name == name {
				return Thing{Kind: kind, Name: name, node: graphs.None, links: f.Group(g).Links}, true
			}
		}
	}
	return Thing{}, false
}

func linkThing(f *graphs.Fabric, l graphs.LinkID) Thing {
	return Thing{Kind: KindLink, Name: f.LinkName(l), node: graphs.None, links: []graphs.LinkID{l}}
}

// linksBetween returns the links between two nodes that are called a--b. A node's name may itself hold "--".
func linksBetween(f *graphs.Fabric, name string) []graphs.LinkID {
	var links []graphs.LinkID
	for i := range name {
		if !strings.HasPrefix(name[i:], "--") {
			continue
		}
		a, isNode := f.NodeByName(strings.TrimPrefix(name[:i], string(KindLink)+"="))
		b, isToo := f.NodeByName(name[i+2:])
		if !isNode || !isToo {
			continue
		}
		for _, arc := range f.Out(a) {
			if f.Head(arc) == b {
				links = append(links, arc.Link())
			}
		}
	}
	return links
}
