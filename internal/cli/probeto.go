package cli

import (
	"strconv"
	"strings"

	"whichlink/graphs"
	"whichlink/pathfind/plan"
)

// flowsTo reads flows as --to names them: HOST:PORT is the flow to a host from that source port of this one, HOST so many new ones.
func (m *measuring) flowsTo(f *graphs.Fabric, names []string, fresh int) ([]plan.Flow, error) {
	if len(names) == 0 {
		return nil, nil
	}
	src, err := hostHere(f, m.from)
	if err != nil {
		return nil, err
	}
	var flows []plan.Flow
	for _, name := range names {
		port := uint64(0)
		dst, known := f.NodeByName(name)
		if i := strings.LastIndexByte(name, ':'); !known && i >= 0 {
			if port, err = strconv.ParseUint(name[i+1:], 10, 16); err != nil || port == 0 {
				return nil, usagef("--to %q: %q is no port from 1 to 65535", graphs.Clean(name), graphs.Clean(name[i+1:]))
			}
			dst, known = f.NodeByName(name[:i])
		}
		switch {
		case !known:
			return nil, usagef("--to %q is neither HOST nor HOST:PORT of fabric %s", graphs.Clean(name), f.Name())
		case !f.Node(dst).IsHost():
			return nil, usagef("--to %s: it is a %s, not a host", f.NodeName(dst), f.Node(dst).Role)
		case dst == src:
			return nil, usagef("--to %s: that is this host", f.NodeName(dst))
		}
		if port != 0 {
			flows = append(flows, plan.Flow{Src: src, Dst: dst, SrcPort: uint16(port)})
			continue
		}
		for range fresh {
			flows = append(flows, plan.Flow{Src: src, Dst: dst})
		}
	}
	return flows, nil
}
