package localize

import (
	"slices"
	"testing"

	"whichlink/graphs"
)

// ways returns all shortest ways between two nodes.
func (w *world) ways(at, dst graphs.NodeID) [][]graphs.ArcID {
	if at == dst {
		return [][]graphs.ArcID{nil}
	}
	var all [][]graphs.ArcID
	for _, a := range w.next(at, dst) {
		for _, rest := range w.ways(w.Head(a), dst) {
			all = append(all, append([]graphs.ArcID{a}, rest...))
		}
	}
	return all
}

// roam measures a flow that may go any way there and any way back, of which it is not known on which one it lost packets.
func (w *world) roam(src, dst graphs.NodeID, n int) {
	w.flow++
	there, home := w.ways(src, dst), w.ways(dst, src)
	lost := w.draw(n, w.hazard(there[w.rng.IntN(len(there))], src, dst)+w.hazard(home[w.rng.IntN(len(home))], dst, src))
	o := Observation{Src: src, Dst: dst, Responder: graphs.None, Sent: n, Lost: lost, Flow: w.flow}
	for _, p := range there {
		for _, q := range home {
			o.Alternatives = append(o.Alternatives, Alternative{Arcs: slices.Concat(p, q), Share: 1 / float64(len(there)*len(home))})
		}
	}
	w.obs = append(w.obs, o)
}

// TestThereAndBack: a switch that a flow passes on its way there and on its way back loses its packets twice, as the host does that hangs off it, also where no
// way is known. With one host it is not told from that.
func TestThereAndBack(t *testing.T) {
	for seed := range uint64(4) {
		w := newWorld(leafSpine(t, 6, 3, 1), seed)
		host := w.Hosts()[0]
		leaf := w.Head(w.Out(host)[0])
		sick := Cause{Node, int32(leaf)}
		w.faults[sick] = 0.2
		for _, far := range w.Hosts()[1:] {
			for range 6 {
				w.echo(host, far, 200)
				w.roam(host, far, 200)
			}
		}
		found := false
		for _, s := range w.solve().Suspects {
			found = found || s.Probability > 0.9 && slices.Contains(s.Class, sick) && slices.Contains(s.Class, Cause{Host, int32(host)})
		}
		if !found {
			t.Errorf("seed %d: the switch is not in the class of its host: %v", seed, w.solve().Suspects)
		}
	}
}

// TestDeadInTurn: of eight flows of two hosts that are dead on unknown ways, one of the two uplinks of their switch may be the cause as well as the whole switch. That all arcs of the switch
// are dead at once, each for nothing since any two of them explain it, is no better explanation for there being so many of them.
func TestDeadInTurn(t *testing.T) {
	w := newWorld(fatTree(t, 4), 1)
	hosts := w.Hosts()
	edge := w.Head(w.Out(hosts[0])[0])
	var here, elsewhere []graphs.NodeID
	for _, h := range hosts {
		if w.Head(w.Out(h)[0]) == edge {
			here = append(here, h)
		} else {
			elsewhere = append(elsewhere, h)
		}
	}
	for i := range 30 {
		w.roam(elsewhere[i%len(elsewhere)], elsewhere[(i*7+5)%len(elsewhere)], 5000)
	}
	for i := range 8 {
		w.roam(here[i%2], elsewhere[i+6], 5000)
		dead := &w.obs[len(w.obs)-1]
		dead.Lost = dead.Sent
	}
	for _, s := range w.solve().Suspects {
		uplinks := 0
		for _, c := range s.Class {
			if l := graphs.LinkID(c.ID); c.Kind == Link && (w.Tail(l.Forward()) == edge || w.Head(l.Forward()) == edge) && !w.IsHostArc(l.Forward()) {
				uplinks++
			}
		}
		if s.Kind == Node && s.Probability > 0.9 && uplinks != 2 {
			t.Errorf("a switch is told with %.3f, and of its uplinks %d are in the class: %v", s.Probability, uplinks, s.Class)
		}
	}
}

// TestPerhapsSent: that a flow lost nothing of a packet which may not have been sent acquits what it would have crossed as far as it was probably sent, hosts as well as links.
func TestPerhapsSent(t *testing.T) {
	for _, c := range []struct {
		sent float64 // probably
		dead bool    // the host, as it is told
	}{{0.2, true}, {0.999, false}} {
		w := newWorld(leafSpine(t, 4, 2, 2), 1)
		host := w.Hosts()[0]
		for _, far := range w.Hosts()[2:] {
			w.flow++
			path := w.ways(host, far)[0]
			w.obs = append(w.obs, Observation{Src: host, Dst: far, Responder: graphs.None, Sent: 3, Lost: 3, Bursts: 3, Path: path, Flow: w.flow})
			w.flow++
			w.obs = append(w.obs, Observation{Src: host, Dst: far, Responder: graphs.None, Sent: 1, Flow: w.flow,
				Alternatives: []Alternative{{Arcs: path, Share: c.sent}, {Share: 1 - c.sent}}})
		}
		dead := slices.ContainsFunc(w.solve().Suspects, func(s Suspect) bool {
			return s.Probability > 0.9 && slices.Contains(s.Class, Cause{Host, int32(host)}) && s.High > 0.99
		})
		if dead != c.dead {
			t.Errorf("sent with %v: %+v", c.sent, w.solve().Suspects)
		}
	}
}
