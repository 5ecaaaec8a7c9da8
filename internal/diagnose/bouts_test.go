package diagnose

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"whichlink/graphs"
	"whichlink/internal/evidence"
	"whichlink/pathfind/localize"
)

// TestBouts: what loses packets for a while is told beside what lost more at another time, or loses some all the time, each with its own times; and where nothing did, nothing is.
func TestBouts(t *testing.T) {
	const windows = 900
	for _, c := range []struct {
		name        string
		first, last int     // windows in which something else loses packets
		loss        float64 // the share of them
		back        bool    // that is the other way of the same link
	}{{"after something else", 100, 180, 0.2, false}, {"after the other way", 100, 180, 0.05, true}, {"beside something else", 0, windows, 0.01, false}, {"alone", 0, 0, 0, false}} {
		p := newPlay(t, 128)
		p.rng = rand.New(rand.NewPCG(7, 'B'))
		var other, sick graphs.ArcID
		for p.f.IsHostArc(other) || p.f.IsHostArc(sick) || other.Link() == sick.Link() {
			other, sick = graphs.ArcID(p.rng.IntN(p.f.NumArcs())), graphs.ArcID(p.rng.IntN(p.f.NumArcs()))
		}
		if c.back {
			other = sick.Reverse()
		}
		p.run(windows, func(a graphs.ArcID, w int) float64 {
			switch {
			case a == other && w >= c.first && w < c.last:
				return c.loss
			case a == sick && w >= windows-12:
				return 0.02
			}
			return 1e-5
		})
		d, named := p.store.Diagnose(), 0
		for _, x := range d.Suspects {
			if x.Probability < Named {
				continue
			}
			named++
			from := p.store.to
			if len(x.Episodes) > 0 {
				from = x.Episodes[0].Start.Add(x.Episodes[0].From)
			}
			switch x.ID {
			case p.f.ArcName(sick):
				if now := p.store.to.Sub(from).Seconds(); now < 4 || now > 7 || x.Until != nil || *x.Loss < 0.01 || *x.Loss > 0.04 || x.Rank != 1 && c.first > 0 {
					t.Errorf("%s: told is %s", c.name, d.Text())
				}
			case p.f.ArcName(other):
				if *x.LossLow > c.loss || *x.LossHigh < c.loss {
					t.Errorf("%s: told is %s", c.name, d.Text())
				}
			default:
				t.Errorf("%s: told is %s", c.name, d.Text())
			}
		}
		if named != 2 && c.last > 0 || named != 1 && c.last == 0 {
			t.Errorf("%s: %d are named: %s", c.name, named, d.Text())
		}
	}
}

// TestBoutsOfProbing: losses that lie together as somebody probed the faster then are no bout; they are where as much was sent at any other time.
func TestBoutsOfProbing(t *testing.T) {
	for _, c := range []struct {
		name    string
		usually int // probes a flow and half a second before the last five seconds
		bout    bool
	}{{"a run of many probes", 2, false}, {"as many probes all the time", 100, true}} {
		p := newPlay(t, 32)
		for w := range 120 {
			for i, fl := range p.flows {
				sent, lost := c.usually, []int(nil)
				if w >= 110 || (w+i)%50 == 0 {
					lost = []int{100}
				}
				if w >= 110 {
					sent = 100
				}
				p.store.Add(&evidence.Record{V: 1, Time: p.start.Add(time.Duration(w+1) * 500 * time.Millisecond), Source: evidence.SourceProbe, By: fl.by, Kind: evidence.KindEcho,
					Flow: &fl.flow, Path: p.names(fl.path), Back: p.names(fl.back), WindowMS: 500, Sent: &sent, Lost: new(len(lost)), LostAtMS: lost})
			}
		}
		p.store.Diagnose()
		x := boutSearch{store: p.store, known: downs{}, named: map[localize.Cause]bool{}, tried: map[graphs.ArcID]bool{}, ways: map[trip]way{}}
		x.sumUp()
		some := false
		for a := range x.lost {
			if len(x.lost[a]) < 2*boutLosses {
				continue
			}
			some = true
			if b := x.together(a); b.proof >= boutProof != c.bout {
				t.Errorf("%s: %d losses over %s are a bout by %.1f nats", c.name, len(x.lost[a]), p.f.ArcName(a), b.proof)
			}
		}
		if !some {
			t.Errorf("%s: nothing lost enough", c.name)
		}
	}
}

// TestBesideDeadSwitch: beside a switch that is dead all the time, nothing is asked of what crosses it, nor of dead flows of unknown ways, which most likely do, nor of switches whose answers may come back over it.
func TestBesideDeadSwitch(t *testing.T) {
	p := newPlay(t, 128)
	dead, whole := p.f.Head(p.flows[0].path[1]), stretch{p.start, p.start.Add(4 * time.Second)}
	known := downs{}
	for a := range arcsOf(p.f, localize.Cause{Kind: localize.Node, ID: int32(dead)}) {
		known[a] = []stretch{whole}
	}
	bad := func(arcs []graphs.ArcID) bool {
		return slices.ContainsFunc(arcs, func(a graphs.ArcID) bool { return known[a] != nil })
	}
	for i := range p.flows {
		fl := &p.flows[i]
		fl.untraced = i%3 == 0
		for ttl := 1; ttl < len(fl.path) && !fl.untraced; ttl++ {
			p.store.Add(&evidence.Record{V: 1, Time: p.start.Add(2 * time.Second), Source: evidence.SourceProbe, By: fl.by, Kind: evidence.KindHop, Flow: &fl.flow, WindowMS: 500, TTL: ttl,
				Sent: evidence.Int(2), Answered: evidence.Int(2 * int(is(!bad(fl.path[:ttl]))))})
		}
	}
	p.run(8, func(a graphs.ArcID, _ int) float64 { return is(known[a] != nil) })
	p.store.arrange()
	o := p.store.observeSpells([]stretch{{p.start.Add(time.Second), p.start.Add(3 * time.Second)}}, true, known)
	var traced, untraced, answers int
	for i := range o.list {
		obs := &o.list[i]
		open := slices.ContainsFunc(obs.Alternatives, func(x localize.Alternative) bool { return bad(x.Arcs) })
		switch {
		case bad(obs.Path), obs.Lost > 0, obs.Responder != graphs.None && open:
			t.Errorf("%+v is asked", obs)
		case obs.Responder != graphs.None:
			answers++
		case open:
			untraced++
		default:
			traced++
		}
	}
	if traced == 0 || untraced == 0 || answers == 0 {
		t.Errorf("asked are %d traced flows, %d others and %d switches", traced, untraced, answers)
	}
}
