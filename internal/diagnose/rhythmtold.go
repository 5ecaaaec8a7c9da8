package diagnose

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"whichlink/graphs"
	"whichlink/internal/evidence"
	"whichlink/pathfind/localize"
	"whichlink/pathfind/rhythm"
)

// outageLoss is the least share lost in the episodes of what goes up and down.
const outageLoss = 0.5

// tellRhythm finds out whether the loss comes and goes: a link that goes up and down, mostly, or a switch that restarts. The suspect's loss is that of so much time as was looked at;
// 0 for all of it.
func (s *Store) tellRhythm(out *Suspect, sus *localize.Suspect, looked time.Duration) {
	if sus.Kind == localize.Host {
		return
	}
	r := s.rhythmOf(sus.Cause)
	if r.Kind == rhythm.Steady {
		return
	}
	last := &r.Episodes[len(r.Episodes)-1]
	end := s.flowing.from.Add(duration(last.To))
	if r.Kind == rhythm.Since && r.Loss >= outageLoss && s.recovered(s.flowing.from.Add(duration(last.From)), end) {
		r.Kind, last.Lasting = rhythm.Once, false // nothing crosses the link any more, and that is why nothing is lost
	}
	oneWay := (r.Kind == rhythm.Once || r.Kind == rhythm.Flapping) && r.Loss >= outageLoss && s.observeStorms(s.stretches(r.Episodes), deadArcs{}, nil, false).oneWay(sus.Cause)
	if r.Kind == rhythm.Once && !(flaps(&r) && !oneWay && r.Loss >= stormLoss) && r.To-last.To < milliseconds(lastWindows(&r)) {
		r.Kind, last.Lasting = rhythm.Since, true // of what loses a part, some arrive last by chance, or on the way back
	}
	out.TellRhythm(&r, s.flowing.from, s.instrument())
	crossed := func() bool {
		return slices.ContainsFunc(linksOf(s.fabric, sus.Cause), func(l graphs.LinkID) bool { return s.crossedSince(l, end) })
	}
	if r.Kind == rhythm.Once || r.Kind == rhythm.Until || ceased(&r) && crossed() {
		over := end.UTC()
		out.Until = &over
	}
	if r.Kind == rhythm.Once && r.Stray < 0.5 && duration(last.To-last.From) < stormLeast && s.instrument() == string(evidence.SourceProbe) {
		// One burst of probes was lost, as a host does that sends or reads many at once after it did not run. It will not come again to be found.
		out.Probability = min(out.Probability, shaded)
		out.Against = "all that it lost, it lost at one moment; " + out.Against
	}
	if other := s.downWith(sus.Cause, &r); other != "" {
		out.Probability = min(out.Probability, shaded)
		out.Against = fmt.Sprintf("it lost a part, and only while %s was down, whose flows may have been on their way to other links; %s", other, out.Against)
	}
	if out.oneWay = oneWay; oneWay && r.Kind == rhythm.Once {
		out.Symptom = Loss
	}
	// Of one episode that is shorter than what was looked at.
	if out.when != "" && (looked == 0 || duration(last.To-last.From).Seconds() < 0.9*looked.Seconds()) {
		loss, n := s.lossThen(sus.Cause, &r)
		if sus.Sent == 0 {
			loss = max(loss, *out.Loss) // of flows that may have crossed it some did not, which lost less
		}
		out.losesThen(loss, n)
	}
	if out.Symptom != Flap || r.Loss < outageLoss {
		return
	}
	if out.once = r.Kind == rhythm.Once && crossed(); r.Kind == rhythm.Once && !out.once {
		out.Until = nil
		if out.fresh = s.flowing.to.Before(end.Add(stale)); !out.fresh {
			out.Symptom = Down
			out.For += "; no flow was seen on it since"
		}
	}
	if sus.Kind == localize.Arc && !oneWay || sus.Kind == localize.Link {
		s.isLink(out, sus)
	}
}

// lastWindows is for how long what a cause loses may not show at the end of the evidence, though it goes on: of what loses a part, windows in which some was lost may be the next to end.
func lastWindows(r *rhythm.Rhythm) time.Duration {
	if r.Loss < stormLoss {
		return 2 * time.Second
	}
	return quiet
}

// ceased reports whether what came and went does so no more: it was well since for many times as long as it ever was between two outages.
func ceased(r *rhythm.Rhythm) bool {
	const long, least = 5, 10_000 // ms
	n := len(r.Episodes)
	if r.Kind != rhythm.Flapping || n < 2 {
		return false
	}
	apart := 0.0
	for i := 1; i < n; i++ {
		apart = max(apart, r.Episodes[i].From-r.Episodes[i-1].From)
	}
	if n == 2 {
		apart *= 2
	}
	return r.To-r.Episodes[n-1].To > max(least, long*apart)
}

// downWith names what was down whenever a cause lost some of its packets, if there is one and that is no chance: when a link goes down its flows move to others, where some of what it lost
// is put. At its own switches all flows may move, some of them to what dies next: less says there that it is no chance, and that a cause lost all of what few flows sent is no proof either.
func (s *Store) downWith(c localize.Cause, r *rhythm.Rhythm) string {
	const chance, atSwitch, fewFlows = 0.01, 0.5, 3
	if r.Kind != rhythm.Flapping && r.Kind != rhythm.Once {
		return ""
	}
	bad, links := s.stretches(r.Episodes), linksOf(s.fabric, c)
	own := sync.OnceValue(func() int { return s.surelyLost(c, bad) })
	var name string
	for other, when := range s.fallen.outages {
		others, down := linksOf(s.fabric, other), when.stretches()
		if slices.ContainsFunc(others, func(l graphs.LinkID) bool { return slices.Contains(links, l) }) {
			continue
		}
		met, beside := s.metBy(bad, down), s.atOneSwitch(links, others)
		if met > atSwitch || !beside && met > chance {
			continue
		}
		few := func() bool { return beside && own() <= fewFlows && own() < s.surelyLost(other, down) }
		if x := s.name(other); (name == "" || x < name) && (r.Loss < stormLoss || few()) {
			name = x
		}
	}
	return name
}

// metBy is the probability that by chance each episode of some meets one of others, or 1 where not all of them do.
func (s *Store) metBy(episodes, others []stretch) float64 {
	likely := 1.0
	for _, bad := range episodes {
		met, near := false, time.Duration(0) // when it would meet one
		for _, d := range others {
			d = stretch{d.from.Add(-stormBin), d.to.Add(stormBin)}
			met = met || bad.overlaps(d)
			near += d.to.Sub(d.from) + bad.to.Sub(bad.from)
		}
		if !met {
			return 1
		}
		likely *= near.Seconds() / s.flowing.to.Sub(s.flowing.from).Seconds()
	}
	return likely
}

// surelyLost is how many flows lost packets in some stretches that surely crossed a cause and nothing else that was down just then.
func (s *Store) surelyLost(c localize.Cause, when []stretch) int {
	others, _ := s.fallen.beside(s.fabric, c)
	seen, n := s.observeStorms(when, s.fallen.dead, others, false), 0
	for i := range seen.list {
		if surely, _ := seen.crossing(&seen.list[i], c); surely && seen.list[i].Lost > 0 {
			n++
		}
	}
	return n
}

// atOneSwitch reports whether some links and others end at one switch.
func (s *Store) atOneSwitch(links, others []graphs.LinkID) bool {
	at := map[graphs.NodeID]bool{}
	for _, l := range links {
		for _, p := range s.fabric.Link(l).Ends {
			n := s.fabric.Port(p).Node
			at[n] = !s.fabric.Node(n).IsHost()
		}
	}
	return slices.ContainsFunc(others, func(l graphs.LinkID) bool {
		return slices.ContainsFunc(s.fabric.Link(l).Ends[:], func(p graphs.PortID) bool { return at[s.fabric.Port(p).Node] })
	})
}

// isLink makes of a suspect its link: what goes down goes down both ways, whichever lost more probes, and an arc of it is no other answer.
func (s *Store) isLink(out *Suspect, sus *localize.Suspect) {
	out.Kind, out.ID = string(localize.Link), out.Link
	class := []string{out.ID}
	for _, c := range sus.Class {
		name := s.name(c)
		if c.Kind == localize.Arc {
			name = s.fabric.LinkName(graphs.ArcID(c.ID).Link())
		}
		if !slices.Contains(class, name) {
			class = append(class, name)
		}
	}
	out.Class = class
}

// lossThen is the share that a cause lost in the last episode of a rhythm, and of how many packets. What went there and back over a link or a switch was in danger twice.
func (s *Store) lossThen(c localize.Cause, r *rhythm.Rhythm) (loss, n float64) {
	if c.Kind == localize.Link || c.Kind == localize.Node {
		if x := s.observeThen(s.stretches(r.Episodes), true).outage(c); x.Sent > 0 {
			return x.Loss, float64(x.Sent)
		}
	}
	return lossIn(&r.Episodes[len(r.Episodes)-1])
}
