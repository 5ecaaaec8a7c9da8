package diagnose

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"whichlink/graphs"
	"whichlink/internal/evidence"
)

// TestAnything: whatever ports, hosts and files say beside probes, and how much of it has come so far, no diagnosis panics, names what is not there, or depends on the order of what was said.
func TestAnything(t *testing.T) {
	for seed := range uint64(10) {
		s := newScene(t)
		s.rng = rand.New(rand.NewPCG(seed, 4))
		sick := graphs.ArcID(s.rng.IntN(s.f.NumArcs()))
		s.run(probing{flows: 16, packets: 20, windows: 3, untraced: seed%3 == 0, lose: func(a graphs.ArcID, w int) float64 { return 0.3 * is(a == sick && w != int(seed)%4) }})
		for range 6 << s.rng.IntN(3) {
			s.babble()
		}
		all := slices.Concat(s.probe, s.snmp)
		slices.SortStableFunc(all, func(a, b *evidence.Record) int { return a.Time.Compare(b.Time) })
		live, shuffled := NewStore(s.f, Config{}), NewStore(s.f, Config{})
		half := len(all)/4 + s.rng.IntN(len(all)/2)
		for i, r := range all {
			if live.Add(r); i == half {
				s.sound(live, seed)
			}
		}
		live.slowness = nil // of the moment at which it was last looked at
		s.rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		for _, r := range all {
			shuffled.Add(r)
		}
		if want, got := s.sound(live, seed), s.sound(shuffled, seed); got != want {
			t.Errorf("seed %d: in another order it is\n%s\nnot\n%s", seed, got, want)
		}
	}
}

// sound diagnoses and draws what a store has, which must be of what the fabric has. It returns the diagnosis as text.
func (s *scene) sound(store *Store, seed uint64) string {
	d := store.Diagnose()
	p := store.Picture(d)
	text, err := d.MarshalJSON()
	if err != nil || d.Coverage.Measured+len(d.Coverage.Unmeasured) != s.f.NumArcs() {
		s.t.Errorf("seed %d: %v, of %d arcs %d are measured and %d not", seed, err, s.f.NumArcs(), d.Coverage.Measured, len(d.Coverage.Unmeasured))
	}
	told := map[string]bool{}
	for i := range d.Suspects {
		x := &d.Suspects[i]
		what := x.Kind + " " + x.ID + " " + string(x.Symptom)
		ids := append([]string{x.ID}, x.Class...)
		unknown := func(id string) bool { return x.Kind != "pair" && len(p.ArcsOf(id)) == 0 }
		if !(x.Probability >= 0 && x.Probability <= 1) || told[what] || slices.ContainsFunc(ids, unknown) {
			s.t.Errorf("seed %d: it is said\n%s", seed, d.Text())
		}
		told[what] = true
	}
	return string(text)
}

// babble has somebody say something, of a port, a host or a flow, that may be wrong.
func (s *scene) babble() {
	second := float64(s.rng.IntN(15))
	port := func() string { return s.f.PortName(graphs.PortID(s.rng.IntN(s.f.NumPorts()))) }
	host := func() string { return s.f.NodeName(s.f.Hosts()[s.rng.IntN(len(s.f.Hosts()))]) }
	number := func() int { return s.rng.IntN(10) << s.rng.IntN(20) }
	switch s.rng.IntN(9) {
	case 0, 1, 7, 8: // of somebody whom nobody knows, or who is elsewhere
		p, _ := s.f.PortByName(port())
		heard := evidence.PortState{RemoteSystem: fmt.Sprint("stranger", s.rng.IntN(9)), RemotePort: "swp1"}
		if s.rng.IntN(2) == 0 {
			heard = evidence.PortState{RemoteSystem: s.f.NodeName(s.f.Port(p).Node), RemotePort: s.f.Port(p).Name}
		}
		s.say(evidence.KindNeighbour, port(), second, heard)
	case 2:
		oper := []string{evidence.Up, evidence.Down, "testing"}[s.rng.IntN(3)]
		count := &evidence.Counters{Octets: evidence.Count(s.rng.Uint64()), Unicast: evidence.Count(uint64(number())), Errors: evidence.Count(uint64(number())), Pause: evidence.Count(uint64(number()))}
		s.say(evidence.KindCounters, port(), second, evidence.PortState{IntervalMS: 5000, Oper: oper, Speed: 1e9, In: count, Out: count})
	case 3:
		s.say(evidence.KindEvent, port(), second, evidence.PortState{Event: []string{evidence.Up, evidence.Down, evidence.Flapped}[s.rng.IntN(3)]})
	case 4:
		r := s.say(evidence.KindStrain, "", second, evidence.PortState{})
		r.Source, r.By, r.Node, r.Count, r.WindowMS = evidence.SourceProbe, host(), host(), evidence.Int(number()), number()
		r.Strain = []evidence.Strain{evidence.Overflow, evidence.Overdue, evidence.Late, evidence.Refused, evidence.Pause}[s.rng.IntN(5)]
	case 5: // many words
		for i := range maxWords {
			s.snmp = append(s.snmp, &evidence.Record{V: 1, Time: s.start, Source: evidence.SourceNote, Kind: evidence.KindNote, By: host(), Text: fmt.Sprint("note ", i, number())})
		}
	case 6: // of a window that was told already, what may not be, more than once
		for range 4 {
			r := *s.probe[s.rng.IntN(len(s.probe))]
			if r.Kind != evidence.KindEcho {
				continue
			}
			lost := s.rng.IntN(*r.Sent + 1)
			r.Lost, r.LostForward, r.LostBack = evidence.Int(lost), nil, nil
			r.LostAtMS = []int{-number(), number() << 20}
			r.Time = r.Time.Truncate(10 * time.Second)
			other := r
			other.LostAtMS = []int{s.rng.IntN(5000)}
			s.snmp = append(s.snmp, &r, &other, &r)
		}
	}
}
