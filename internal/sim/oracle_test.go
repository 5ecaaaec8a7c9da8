package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"whichlink/graphs"
	"whichlink/pathfind"
)

// An oracle judges what can be told where no path is known and pairs have more paths than are listed. It knows the loss of the one faulty arc, what
// good arcs lose and how often flows lose packets by themselves; it does not know which arc is the faulty one, nor which way a flow went.
type oracle struct {
	r        *Routes
	expected []float64 // by arc: how many flows, there or back, cross it
}

func newOracle(r *Routes) *oracle {
	// What each pair sends flows, in both directions.
	flows := map[[2]graphs.NodeID]float64{}
	for i := range r.flows {
		flows[[2]graphs.NodeID{r.flows[i].Src, r.flows[i].Dst}]++
		flows[[2]graphs.NodeID{r.flows[i].Dst, r.flows[i].Src}]++
	}
	loads := r.model.Loads(pathfind.Demand{Ends: r.f.Hosts(), Volume: func(src, dst graphs.NodeID) float64 { return flows[[2]graphs.NodeID{src, dst}] }})
	return &oracle{r, loads.Arcs}
}

// chance is the probability that a flow loses k of n packets by itself and by hazard h of its path.
func (noise Config) chance(n, k int, h float64) float64 {
	binomial := func(loss float64) float64 {
		x, _ := math.Lgamma(float64(n + 1))
		y, _ := math.Lgamma(float64(k + 1))
		z, _ := math.Lgamma(float64(n - k + 1))
		return math.Exp(x - y - z + float64(k)*math.Log(loss) + float64(n-k)*math.Log1p(-loss))
	}
	const steps = 40
	own := 0.0
	for i := range steps {
		own += binomial(-math.Expm1(-h-noise.OutlierLoss*(float64(i)+0.5)/steps)) / steps
	}
	return (1-noise.Outliers)*binomial(-math.Expm1(-h)) + noise.Outliers*own
}

// judge returns how much likelier, in nats, what was counted is with the faulty arc than without any fault, what the best innocent arc would reach, and
// the probability of the faulty arc where each is as likely as any other and as no fault.
func (o *oracle) judge(m *Measurement, faulty graphs.ArcID, loss float64) (truth, rival, probability float64) {
	f, bad := o.r.f, -math.Log1p(-loss)
	good := m.cfg.Background * math.Exp(m.cfg.Spread*m.cfg.Spread/2) // the mean
	nats := make([]float64, f.NumArcs())
	sent, ways := 0, 0
	for i := range m.state {
		for d := range m.state[i].ways {
			sent, ways = sent+m.state[i].ways[d].unknown.Sent, ways+1
		}
	}
	clean := -math.Expm1(-bad * float64(sent) / float64(ways)) // share of the flows over the arc that would have lost packets
	for a := range nats {
		nats[a] = -o.expected[a] * clean
	}
	for i := range m.state {
		for d := range m.state[i].ways {
			c := m.state[i].ways[d].unknown
			if c.Lost == 0 {
				continue
			}
			ends := [2]graphs.NodeID{m.flows[i].Src, m.flows[i].Dst}
			arcs := m.flows[i].ways[d].arcs
			h := good * float64(len(arcs))
			ratio := m.cfg.chance(c.Sent, c.Lost, h+bad) / m.cfg.chance(c.Sent, c.Lost, h)
			for _, s := range o.r.model.Ways(ends[d], ends[1-d]).Shares() {
				share := min(s.Share, 1)
				nats[s.Arc] += share*clean + math.Log1p(share*(ratio-1))
			}
		}
	}
	rival = math.Inf(-1)
	sum, switched := 0.0, 0
	for a := range nats {
		if f.IsHostArc(graphs.ArcID(a)) {
			continue
		}
		switched++
		sum += math.Exp(nats[a] - nats[faulty])
		if graphs.ArcID(a) != faulty {
			rival = max(rival, nats[a])
		}
	}
	return nats[faulty], rival, 1 / (sum + float64(switched)*math.Exp(-nats[faulty]))
}

// TestUntraced prints what an oracle makes of an arc of the RNG fabric that loses 1 % under Spraypoint where no path is known.
func TestUntraced(t *testing.T) {
	if !*full {
		t.Skip("takes minutes: -full")
	}
	r := sprayed(t)
	o := newOracle(r)
	fmt.Println("| evidence | trials | nats, median (least) | best innocent, median | named by the oracle |\n| --- | --- | --- | --- | --- |")
	for _, after := range []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute} {
		var truths, rivals []float64
		named := 0
		for seed := *first; seed < *first+uint64(*trials); seed++ {
			cfg := noise
			cfg.Seed, cfg.SwitchRate = seed, -1
			cfg.Faults = arcFaults(1, 0.01, 0.01)(r.f, rand.New(rand.NewPCG(seed, 'F')))
			m := r.Measure(cfg)
			m.Run(after)
			truth, rival, p := o.judge(m, graphs.ArcID(cfg.Faults[0].ID), cfg.Faults[0].Loss)
			truths, rivals = append(truths, truth), append(rivals, rival)
			if p > 0.5 {
				named++
			}
		}
		slices.Sort(truths)
		slices.Sort(rivals)
		fmt.Printf("| %.0f s | %d | %.0f (%.0f) | %.0f | %d |\n", after.Seconds(), *trials, truths[len(truths)/2], truths[0], rivals[len(rivals)/2], named)
	}
}
