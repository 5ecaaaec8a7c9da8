package diagnose

import (
	"strings"
	"testing"
	"time"

	"whichlink/graphs"
	"whichlink/internal/evidence"
	"whichlink/pathfind"
)

// capture adds what captures at the senders of so many flows tell, of which each loses a share of its packets by itself and more on some arc.
func (x *tracing) capture(flows int, loses func(arcs []graphs.ArcID) float64) {
	e, hosts := pathfind.NewECMP(x.plan), x.plan.Hosts()
	for i := range flows {
		src, dst := hosts[i%len(hosts)], hosts[(i+1+x.rng.IntN(len(hosts)-1))%len(hosts)]
		paths, _ := e.Paths(src, dst, 100)
		share, lost := loses(paths[x.rng.IntN(len(paths))].Arcs), 0
		for range 400 {
			if x.rng.Float64() < share {
				lost++
			}
		}
		x.store.Add(&evidence.Record{V: 1, Time: x.start.Add(10 * time.Second), Source: evidence.SourcePcap, By: "capture.pcapng", Kind: evidence.KindFlow, WindowMS: 5000,
			Flow:    &evidence.Flow{Src: x.plan.Address(src, false), Dst: x.plan.Address(dst, false), Proto: "tcp", SrcPort: uint16(40000 + i), DstPort: 5001},
			Packets: evidence.Int(400), LostBefore: evidence.Int(0), LostAfter: evidence.Int(lost)})
	}
}

// What only large packets suffer from, as traffic in captures is, was acquitted by probes, which are small, or told as a loss of a moment.
func TestProbesAreSpared(t *testing.T) {
	for seed := range uint64(8) {
		x := newTracing(t, seed)
		bad := graphs.ArcID(x.rng.IntN(x.plan.NumArcs()))
		for x.plan.IsHostArc(bad) {
			bad = graphs.ArcID(x.rng.IntN(x.plan.NumArcs()))
		}
		strays := int(seed % 2) // a probe that is lost by chance
		x.run(x.plan, 128, 10, 0, func(a graphs.ArcID) float64 {
			if a == bad && strays > 0 {
				strays--
				return 1
			}
			return 0
		})
		x.capture(250, func(arcs []graphs.ArcID) float64 {
			for _, a := range arcs {
				if a == bad {
					return 0.03
				}
			}
			return 0
		})
		d := x.store.Diagnose()
		switch {
		case d.Verdict != Suspects || d.Suspects[0].ID != x.plan.ArcName(bad) || !strings.Contains(d.Summary, "of captures, and spares probes (p 0.9"):
			t.Errorf("seed %d: expected %s\n%s", seed, x.plan.ArcName(bad), d.Text())
		case !strings.Contains(d.Suspects[0].Next[0].Do, "--size 1500"), *d.Suspects[0].LossLow > 0.03, *d.Suspects[0].LossHigh < 0.03:
			t.Errorf("seed %d\n%s", seed, d.Text())
		case len(d.Suspects) > 1 && d.Suspects[1].Probability >= Named:
			t.Errorf("seed %d: an innocent is named\n%s", seed, d.Text())
		}
	}
}

// Captured flows that lose packets by themselves, as TCP does, convict nothing that probes cross clean.
func TestFlowsLoseByThemselves(t *testing.T) {
	for seed := range uint64(8) {
		x := newTracing(t, seed)
		x.run(x.plan, 128, 10, 0, nil)
		x.capture(250, func([]graphs.ArcID) float64 {
			if x.rng.Float64() < 0.2*float64(seed%4+1) {
				return []float64{0.003, 0.01, 0.03}[x.rng.IntN(3)]
			}
			return 0
		})
		if d := x.store.Diagnose(); d.Verdict == Suspects {
			t.Errorf("seed %d\n%s", seed, d.Text())
		}
	}
}
