package diagnose

import (
	"maps"
	"slices"

	"whichlink/graphs"
	"whichlink/internal/evidence"
)

// Tellers are those who tell of one flow, most often one.
type tellers struct {
	first  *flowLog
	others map[string]*flowLog
}

func (t *tellers) by(name string) *flowLog {
	switch {
	case t == nil:
		return nil
	case t.first.by == name:
		return t.first
	}
	return t.others[name]
}

// log returns what is known of the flow of a record by who wrote it, and makes it when first asked.
func (s *Store) log(r *evidence.Record) *flowLog {
	k := flowKey{flow: *r.Flow, size: r.Size}
	of := s.flows[k]
	l := of.by(r.By)
	if l == nil {
		l = &flowLog{flowKey: flowKey{r.By, k.flow, k.size}, src: graphs.None, dst: graphs.None, intoSrc: s.arcTo(r.Flow.Src), intoDst: s.arcTo(r.Flow.Dst)}
		if o, ok := s.fabric.Owner(r.Flow.Src); ok {
			l.src = o.Node
		}
		if o, ok := s.fabric.Owner(r.Flow.Dst); ok {
			l.dst = o.Node
		}
		switch {
		case of == nil:
			s.flows[k] = &tellers{first: l}
		case of.others == nil:
			of.others = map[string]*flowLog{r.By: l}
			s.retold = append(s.retold, of)
		default:
			of.others[r.By] = l
		}
		s.order = filed(s.order, l, compareFlows, &s.mixed)
	}
	if r.Method != "" {
		l.method = r.Method
	}
	return l
}

// forget drops what one tells of a flow, but not its tellers from those of which more than one tells.
func (s *Store) forget(l *flowLog) {
	k := l.flowKey
	k.by = ""
	of := s.flows[k]
	switch {
	case of.first != l:
		delete(of.others, l.by)
	case len(of.others) == 0:
		delete(s.flows, k)
		return
	default:
		of.first = slices.MinFunc(slices.Collect(maps.Values(of.others)), compareFlows)
		delete(of.others, of.first.by)
	}
	if len(of.others) == 0 {
		of.others = nil
	}
}
