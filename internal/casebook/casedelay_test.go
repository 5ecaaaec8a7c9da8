package casebook_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"whichlink/graphs"
	"whichlink/internal/diagnose"
	"whichlink/internal/lab"
	"whichlink/internal/lab/labtest"
	"whichlink/pathfind"
)

func init() { casebook = append(casebook, delayCases...) }

// delayCases are the entries of the casebook about delay without loss.
var delayCases = []casebookCase{
	{name: "15 slow arc", most: 15 * time.Second, set: func(s *stage) []want {
		a := s.fabricLink().Forward()
		if s.rng.IntN(2) == 1 {
			a = a.Reverse()
		}
		s.slow(a)
		s.broken = s.f.ArcName(a)
		return []want{{id: s.broken, symptoms: []diagnose.Symptom{diagnose.Slow, diagnose.Loss}, touching: []string{s.f.LinkName(a.Link())}}}
	}, also: saidSlow},
	{name: "15 slow host", most: 15 * time.Second, set: func(s *stage) []want {
		hosts := s.f.Hosts()
		h := hosts[s.rng.IntN(len(hosts))]
		s.slow(s.f.Out(h)[0].Reverse())
		name := s.f.NodeName(h)
		s.broken = name
		return []want{{id: name, symptoms: []diagnose.Symptom{diagnose.Slow, diagnose.Loss}, touching: []string{name, s.f.LinkName(s.f.Out(h)[0].Link())}}}
	}, also: saidSlow},
}

// saidSlow: a queue that is long may overflow, too, and lose packets; that it is slow must be said in any case.
func saidSlow(s *stage, d *diagnose.Diagnosis) string {
	for _, x := range d.Suspects {
		if x.Symptom == diagnose.Slow && x.Probability >= diagnose.Named && slices.Contains(x.Class, s.broken) {
			return ""
		}
	}
	return "no delay is named at " + s.broken
}

// slow makes a queue at an arc: real traffic comes in bursts that the arc takes its time to send, and has the room for.
func (s *stage) slow(a graphs.ArcID) {
	s.t.Helper()
	ecmp := pathfind.NewECMP(s.f)
	const mbit = 30.0
	src, dst, best := graphs.NodeID(0), graphs.NodeID(0), 0.0
	for _, h := range s.f.Hosts() {
		for _, g := range s.f.Hosts() {
			if h == g {
				continue
			}
			for _, x := range ecmp.Shares(h, g) {
				if x.Arc == a && x.Share > best {
					src, dst, best = h, g, x.Share
				}
			}
		}
	}
	s.breakIt("slow", s.f.ArcName(a), lab.FaultOptions{Rate: fmt.Sprintf("%.1fMbit", 1.25*mbit*best)})
	s.breakIt("load", s.f.NodeName(src)+" "+s.f.NodeName(dst), lab.FaultOptions{Rate: fmt.Sprintf("%.0fMbit", mbit), Flows: 512})
}

// TestSlowArcOnRealPackets plays a queue on a random graph, whose paths are of three lengths. What else a starved machine loses is not judged here.
func TestSlowArcOnRealPackets(t *testing.T) {
	labtest.Need(t)
	sh := shapes[slices.IndexFunc(shapes, func(s shape) bool { return s.name == "random 16x4" })]
	if v := play(t, sh, delayCases[0], 1); v.wrong != "" && v.innocents == 0 {
		t.Error(v.wrong)
	}
}
