package diagnose

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"whichlink/graphs"
	"whichlink/graphs/spelling"
	"whichlink/internal/evidence"
)

// isManagement reports whether a port, as records name it, is one of management.
func isManagement(name string) bool {
	_, port, ok := strings.Cut(name, ":")
	return ok && spelling.IsManagement(port)
}

// outsiders are ports of which something was told and that the fabric does not have, by name, with what is known of their state.
type outsiders map[string]outsider

// An outsider is the newest state of such a port, empty where none is known.
type outsider struct {
	state string
	at    time.Time
}

// take notes a record of such a port.
func (o outsiders) take(r *evidence.Record) {
	old, known := o[r.Port]
	state := evidence.UpOrDown(cmp.Or(r.Oper, r.Event))
	switch newer := cmp.Or(r.Time.Compare(old.at), cmp.Compare(state, old.state)) > 0; {
	case !known && len(o) >= maxPortRecords:
	case state == "" && !known:
		o[r.Port] = outsider{}
	case state != "" && (old.state == "" || newer):
		o[r.Port] = outsider{state, r.Time}
	}
}

// outsideNotes tell once of those that are up: a plan need not have ports without a cable, and one that carries something may be what it lacks, or
// spelled otherwise.
func (s *Store) outsideNotes() (notes []string) {
	var ports []string
	nodes := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(s.ports.outside)) {
		node, _, _ := strings.Cut(name, ":")
		_, known := s.fabric.NodeByName(node)
		switch {
		case !known && s.nodeSpelled(node) == graphs.None:
			nodes[graphs.Clean(node)] = true
		case s.ports.outside[name].state == evidence.Up:
			ports = append(ports, graphs.Clean(name))
		}
	}
	if len(ports) > 0 {
		notes = append(notes, fmt.Sprintf("up, though the fabric file has no such port (or spells it otherwise): %s; what they count is left out", firstOf(ports, 5)))
	}
	if len(nodes) > 0 {
		notes = append(notes, fmt.Sprintf("switches that the fabric file does not have: %s; what they tell of their ports is left out", firstOf(slices.Sorted(maps.Keys(nodes)), 5)))
	}
	return notes
}
