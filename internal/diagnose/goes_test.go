package diagnose

import (
	"slices"
	"testing"
	"time"

	"whichlink/graphs"
	"whichlink/internal/evidence"
)

// TestTurnsBack: flows that come back over the link on which they went are lost on their way there while it is down, and never on their way back. That
// acquits neither direction, nor convicts the links beside it. Where their ways are not known, so do those of a host whose link is down, or the switch that it is at.
func TestTurnsBack(t *testing.T) {
	for seed := range 16 {
		s, sick, untraced := newScene(t), []string{sickLink, "h2-1:eth1--leaf2:swp5", "leaf2", "leaf2"}[seed%4], seed%2 > 0
		for range seed {
			s.rng.Uint64()
		}
		on := func(a graphs.ArcID) bool {
			return s.f.LinkName(a.Link()) == sick || s.f.NodeName(s.f.Tail(a)) == sick || s.f.NodeName(s.f.Head(a)) == sick
		}
		s.run(probing{flows: 60, packets: 40, windows: 24, untraced: untraced, lose: func(a graphs.ArcID, window int) float64 {
			return is(on(a) && (window == 3 || window == 10 || window == 17))
		}})
		// Two windows are told as one, and not when in it packets were lost.
		half := map[evidence.Flow]*evidence.Record{}
		var records []*evidence.Record
		for _, r := range s.probe {
			before := half[*r.Flow]
			switch {
			case r.Kind == evidence.KindPath:
				records = append(records, r)
			case before == nil:
				half[*r.Flow] = r
			default:
				for _, x := range [][2]*int{{r.Sent, before.Sent}, {r.Lost, before.Lost}, {r.LostForward, before.LostForward}, {r.LostBack, before.LostBack}} {
					*x[0] += *x[1]
				}
				r.WindowMS *= 2
				records = append(records, r)
				delete(half, *r.Flow)
			}
		}
		s.probe = records
		d := s.diagnosed()
		if len(d.Suspects) != 1 || d.Suspects[0].ID != sick || d.Suspects[0].Symptom != Flap || d.Suspects[0].Probability < 0.9 {
			t.Errorf("of %s, which was down three times, it is said\n%s", sick, d.Text())
		}
	}
}

// TestCalmAnswer: of a flow whose probes a link loses that comes and goes, an answer that is lost while the link is up does not convict the way back over that link: the answers that
// came do not count for it.
func TestCalmAnswer(t *testing.T) {
	s := newScene(t)
	sick := s.link("h2-1:eth1--leaf2:swp5")
	back, _ := s.f.ArcByName("h2-1:eth1>leaf2:swp5")
	s.run(probing{flows: 60, packets: 40, windows: 24, lose: func(a graphs.ArcID, window int) float64 {
		return is(a.Link() == sick && (window == 3 || window == 10 || window == 17))
	}})
	store, calm := NewStore(s.f, Config{}), 0
	for _, r := range s.probe {
		if r.Kind == evidence.KindEcho && r.By != "h2-1" && slices.Contains(r.Back, "h2-1:eth1>leaf2:swp5") && *r.Lost == 0 && calm == 0 {
			calm++
			r.Lost, r.LostBack, r.LostAtMS = evidence.Int(1), evidence.Int(1), []int{100}
		}
		store.Add(r)
	}
	store.arrange()
	seen := store.observe(nil, time.Time{})
	sent, lost := 0, 0
	for i := range seen.list {
		if obs := &seen.list[i]; slices.Contains(obs.Path, back) && seen.flow(obs).dst == s.f.Tail(back) {
			sent, lost = sent+obs.Sent, lost+obs.Lost
		}
	}
	if calm == 0 || float64(lost) > 0.01*float64(sent) {
		t.Errorf("%d of %d answers are counted as lost over %s", lost, sent, s.f.ArcName(back))
	}
}
