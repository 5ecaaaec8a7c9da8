package localize

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"whichlink/graphs"
)

// A counted world is one whose ports count. Half of its faults show in no counter; some ports count what is not lost; some arcs are sick
// though not so sick that probes would miss anything.
type countedWorld struct {
	*world
	meters []Meter
	sick   map[graphs.ArcID]float64
	noisy  map[graphs.ArcID]bool
}

func (w *world) counted(seed uint64, noise float64) *countedWorld {
	rng := rand.New(rand.NewPCG(seed, 9))
	c := &countedWorld{world: w, sick: map[graphs.ArcID]float64{}, noisy: map[graphs.ArcID]bool{}}
	between := func(low, high float64) float64 { return low * math.Pow(high/low, rng.Float64()) }
	poisson := func(mean float64) float64 {
		if mean > 50 {
			return max(0, math.Round(mean+math.Sqrt(mean)*rng.NormFloat64()))
		}
		k, p := 0.0, math.Exp(-mean)
		for u := rng.Float64(); u > p; u *= rng.Float64() {
			k++
		}
		return k
	}
	shows := map[Cause]int{} // 1 as errors, 2 as discards
	for _, f := range sortedFaults(w.faults) {
		switch x := rng.Float64(); {
		case x < 0.3:
			shows[f] = 1
		case x < 0.5:
			shows[f] = 2
		}
	}
	volume := between(1e4, 1e8)
	for a := range graphs.ArcID(w.NumArcs()) {
		packets := math.Round(volume * between(0.3, 3))
		rates := [3]float64{0, between(1e-11, 1e-8), between(1e-11, 1e-8)}
		for _, f := range sortedFaults(w.faults) {
			of := f == Cause{Arc, int32(a)} || f == Cause{Link, int32(a.Link())} ||
				f.Kind == Group && slices.Contains(w.Link(a.Link()).Groups, graphs.GroupID(f.ID))
			if of && shows[f] > 0 {
				rates[shows[f]] += w.faults[f] * math.Exp(0.7*rng.NormFloat64())
			}
		}
		if rng.Float64() < 0.005 {
			c.sick[a] = between(1e-6, 3e-4)
			rates[1] += c.sick[a]
		}
		if rng.Float64() < noise {
			rates[1] += between(1e-7, 1e-2)
			c.noisy[a] = true
		}
		if rng.Float64() < 0.15 {
			rates[2] += between(1e-7, 1e-2)
		}
		for i, sort := range []Sort{Errors, Discards} {
			c.meters = append(c.meters, Meter{On: Cause{Arc, int32(a)}, Sort: sort, Packets: packets, Count: min(packets, poisson(packets*rates[i+1]))})
		}
	}
	for _, h := range w.Hosts() {
		f := Cause{Host, int32(h)}
		packets, rate := math.Round(volume*between(0.3, 3)), between(1e-11, 1e-8)
		if shows[f] > 0 {
			rate += w.faults[f] * math.Exp(0.7*rng.NormFloat64())
		}
		c.meters = append(c.meters, Meter{On: f, Sort: Discards, Packets: packets, Count: min(packets, poisson(packets*rate))})
	}
	return c
}

func sortedFaults(faults map[Cause]float64) []Cause {
	var list []Cause
	for f := range faults {
		list = append(list, f)
	}
	slices.SortFunc(list, func(a, b Cause) int {
		return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
	})
	return list
}

// A reliability counts what was said against what was true.
type reliability struct {
	bins                           [10]checked
	named, innocent, found, faults int
}

// A checked is how many suspects there are, what they were said to be in the sum, and how many are true.
type checked struct {
	said    float64
	n, true int
}

func (c *checked) add(p float64, ok bool) {
	c.said += p
	c.n++
	if ok {
		c.true++
	}
}

// String returns the number, and the means of what was said and of what is true.
func (c *checked) String() string {
	n := float64(max(c.n, 1))
	return fmt.Sprintf("%4d, said %.3f, true %.3f", c.n, c.said/n, float64(c.true)/n)
}

func (r *reliability) add(p float64, ok bool) {
	r.bins[min(int(p*10), 9)].add(p, ok)
	if p > 0.5 {
		r.named++
		if !ok {
			r.innocent++
		}
	}
}

func (r *reliability) error() float64 {
	ece, n := 0.0, 0
	for _, b := range r.bins {
		ece += math.Abs(b.said - float64(b.true))
		n += b.n
	}
	return ece / float64(max(n, 1))
}

func (r *reliability) String() string {
	var text strings.Builder
	for i := range r.bins {
		if r.bins[i].n > 0 {
			fmt.Fprintf(&text, "%3d%%..%3d%%: %v\n", 10*i, 10*i+10, &r.bins[i])
		}
	}
	fmt.Fprintf(&text, "expected calibration error %.3f; %d named, %d of them innocent; %d of %d faults named\n", r.error(), r.named, r.innocent, r.found, r.faults)
	return text.String()
}

// TestJointCalibration: what is said of probes alone, of counters alone and of both together is true as often as it is said, and both together
// find more than either.
func TestJointCalibration(t *testing.T) {
	t.Parallel()
	var probes, counters, both, early, lied reliability
	n := uint64(*worlds) / 2
	for seed := range n {
		if seed%3 == 0 { // one port in ten counts what is not lost
			w := randomWorld(t, 1000+seed).counted(seed, 0.1)
			w.judge(Solve(w.Fabric, w.obs, Config{Meters: w.meters}), &lied)
		}
		w := randomWorld(t, 1000+seed).counted(seed, 0.002)
		for _, x := range []struct {
			r      *reliability
			obs    []Observation
			meters []Meter
		}{{&probes, w.obs, nil}, {&counters, nil, w.meters}, {&both, w.obs, w.meters}} {
			result := Solve(w.Fabric, x.obs, Config{Meters: x.meters})
			w.judge(result, x.r)
			if x.r == &both {
				w.judgeEarly(result, &early)
			}
		}
	}
	t.Logf("%d worlds\nprobes alone\n%scounters alone\n%sboth\n%searly\n%sboth, if counters lie\n%s", n, &probes, &counters, &both, &early, &lied)
	for name, r := range map[string]*reliability{"probes": &probes, "counters": &counters, "both": &both, "early": &early, "lied to": &lied} {
		if e := r.error(); e > 0.08 {
			t.Errorf("%s: expected calibration error %.3f", name, e)
		}
		if r.innocent > r.named/8+1 {
			t.Errorf("%s: %d of %d named are innocent", name, r.innocent, r.named)
		}
	}
	if both.found <= probes.found || both.found <= counters.found {
		t.Errorf("both find %d faults, probes %d, counters %d", both.found, probes.found, counters.found)
	}
}

// judge compares suspects with the faults.
func (w *countedWorld) judge(result *Result, r *reliability) {
	named := map[Cause]bool{}
	for _, s := range result.Suspects {
		guilty := slices.IndexFunc(s.Class, func(c Cause) bool { return w.faults[c] > 0 })
		r.add(s.Probability, guilty >= 0)
		if guilty >= 0 && s.Probability > 0.5 {
			named[s.Class[guilty]] = true
		}
	}
	r.found += len(named)
	r.faults += len(w.faults)
}

// judgeEarly compares early warnings with the arcs that are sick or worse.
func (w *countedWorld) judgeEarly(result *Result, r *reliability) {
	r.faults += len(w.sick)
	for _, e := range result.Early {
		_, sick := w.sick[e.Arc]
		ill := sick
		for c := range w.faults {
			ill = ill || c == Cause{Arc, int32(e.Arc)} || c == Cause{Link, int32(e.Arc.Link())} ||
				c.Kind == Group && slices.Contains(w.Link(e.Arc.Link()).Groups, graphs.GroupID(c.ID))
		}
		if e.Probability >= listed {
			r.add(e.Probability, ill)
		}
		if sick && e.Probability > 0.5 {
			r.found++
		}
	}
}

// TestMetersAndProbes: probes and counters speak of the same hazard. Each may be all that speaks, silence of counters clears nothing, and where
// they contradict each other both weigh.
func TestMetersAndProbes(t *testing.T) {
	f := leafSpine(t, 4, 4, 2)
	var sick graphs.ArcID = graphs.None
	for a := range graphs.ArcID(f.NumArcs()) {
		if !f.IsHostArc(a) {
			sick = a
			break
		}
	}
	on := Cause{Arc, int32(sick)}
	// probed sends flows of some packets between all pairs of hosts, of which those over the sick arc lose a share.
	probed := func(packets int, loss float64) []Observation {
		w := newWorld(f, 3)
		for _, src := range f.Hosts() {
			for _, dst := range f.Hosts() {
				if src != dst {
					w.faults[on] = loss
					w.echo(src, dst, packets)
				}
			}
		}
		return w.obs
	}
	errors := func(count float64) []Meter { return []Meter{{On: on, Sort: Errors, Count: count, Packets: 1e6}} }
	solve := func(obs []Observation, meters []Meter, hints ...Hint) (named, early, noise float64) {
		r := Solve(f, obs, Config{Meters: meters, Hints: hints})
		for _, s := range r.Suspects {
			if slices.Contains(s.Class, on) {
				named = s.Probability
			} else if s.Probability > 0.3 {
				t.Errorf("innocent: %v", s)
			}
		}
		for _, e := range r.Early {
			early, noise = e.Probability, e.Noise
		}
		return
	}
	within := func(what string, p, low, high float64) {
		t.Helper()
		if !(p >= low && p <= high) {
			t.Errorf("%s: %.3f, want %.2f to %.2f", what, p, low, high)
		}
	}
	weak, few := probed(5, 0), probed(20, 0.008)
	p, _, _ := solve(weak, nil)
	within("few clean probes alone", p, 0, 0.05)
	alone, _, _ := solve(few, nil)
	within("few losses alone", alone, 0.01, 0.5)
	p, e, n := solve(weak, errors(10_000))
	within("errors alone, at a rate that the probes could have missed", p, 0.5, 0.95)
	within("the same, few or many", e, 0.55, 1)
	within("and their noise", n, 0, 0.45)
	p, _, _ = solve(few, errors(10_000))
	within("few losses and errors", p, 0.95, 1)
	if s := Solve(f, few, Config{Meters: errors(10_000)}).Suspects[0]; s.Cause != on || len(s.Class) > 2 {
		t.Errorf("few losses and errors: %v", s)
	}
	p, _, n = solve(probed(5000, 0), errors(10_000))
	within("errors against many clean probes", p, 0, 0.1)
	within("which are noise", n, 0.5, 1)
	p, e, _ = solve(probed(100, 0), errors(20))
	within("errors too few to be missed", p, 0, 0.05)
	within("are an early warning", e, 0.6, 1)
	_, e, _ = solve(nil, errors(20))
	within("without any probe, too", e, 0.6, 1)
	_, e, _ = solve(nil, []Meter{{On: on, Sort: Errors, Count: 1, Packets: 1e9}})
	within("one error in a billion", e, 0, 0.3)

	p, _, _ = solve(few, errors(0))
	if d := math.Log(alone/(1-alone)) - math.Log(p/(1-p)); d < 0 || d > 0.75 {
		t.Errorf("silence takes %.2f nats off %.3f", d, alone)
	}
	r := Solve(f, few, Config{Hints: []Hint{{sick.Link(), 4}}})
	if s := r.Suspects[0]; s.Cause != (Cause{Link, int32(sick.Link())}) || s.Probability < alone {
		t.Errorf("a link that went down: %v", s)
	}
	r = Solve(f, nil, Config{Meters: []Meter{{On: on, Count: math.NaN(), Packets: 1}, {On: on, Count: 1}, {On: Cause{Arc, 1 << 20}, Packets: 5},
		{On: Cause{Group, 0}, Packets: 5}, {On: on, Sort: 9, Packets: 5}, {On: on, Count: 7, Packets: 5}}, Hints: []Hint{{-4, 1}}})
	if r.Ignored != 6 {
		t.Errorf("%d of 7 ignored, want 6", r.Ignored)
	}
}

// TestFewErrors: a handful of errors at one port are not what a link loses that loses a tenth of all packets both ways, so that the silence of the other says no more
// than before.
func TestFewErrors(t *testing.T) {
	f := leafSpine(t, 4, 4, 2)
	w := newWorld(f, 3)
	a := graphs.ArcID(16)
	on := Cause{Link, int32(a.Link())}
	w.faults[on] = 0.1
	for _, src := range f.Hosts() {
		for _, dst := range f.Hosts() {
			if src != dst {
				w.echo(src, dst, 8)
			}
		}
	}
	p := map[float64]float64{}
	for _, count := range []float64{0, 13} {
		meters := []Meter{{On: Cause{Arc, int32(a)}, Sort: Errors, Count: count, Packets: 1e6}, {On: Cause{Arc, int32(a.Reverse())}, Sort: Errors, Packets: 1e6}}
		for _, s := range Solve(f, w.obs, Config{Meters: meters}).Suspects {
			if s.Cause == on {
				p[count] = s.Probability
			}
		}
	}
	if p[0] < 0.5 || p[13] < p[0]-0.05 {
		t.Errorf("%.3f with 13 errors, %.3f with none", p[13], p[0])
	}
}

// TestAllCount: where many ports count a few errors, as after a minute on cables that are neither good nor bad, none of them stands out; where one does, it does.
func TestAllCount(t *testing.T) {
	f := leafSpine(t, 4, 4, 2)
	for _, all := range []bool{true, false} {
		var meters []Meter
		for a := range int32(f.NumArcs()) {
			m := Meter{On: Cause{Arc, a}, Sort: FCS, Packets: 3e5}
			if all || a == 7 {
				m.Count = 2
			}
			meters = append(meters, m)
		}
		told := 0
		for _, e := range Solve(f, nil, Config{Meters: meters}).Early {
			if e.Probability > 0.5 {
				told++
			}
		}
		if want := 1; all && told > 0 || !all && told != want {
			t.Errorf("all count errors %v: %d arcs are said to corrupt packets", all, told)
		}
	}
}
