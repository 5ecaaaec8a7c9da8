package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"whichlink/graphs"
	"whichlink/internal/evidence"
	"whichlink/pathfind/localize"
)

// A common is what several links that failed share: a switch or a shared-risk group, or nothing but itself.
type common struct {
	cause localize.Cause
	links []linkState
}

// share puts links that failed in the same way under what they share: a group all of whose links did, or a switch all of whose known links
// did. Since links of a group mostly fail together and switches do so seldom, groups come first unless the switch explains more.
func (s *Store) share(failed []linkState, near func(a, b *linkState) bool) []common {
	by := map[graphs.LinkID]*linkState{}
	for i := range failed {
		by[failed[i].link] = &failed[i]
	}
	var list []common
	for len(by) > 1 {
		var best common
		for g := range graphs.GroupID(s.fabric.NumGroups()) {
			if xs := s.alike(by, s.fabric.Group(g).Links, 2, near); len(xs) > len(best.links) {
				best = common{localize.Cause{Kind: localize.Group, ID: int32(g)}, xs}
			}
		}
		for _, n := range s.fabric.Switches() {
			cause := localize.Cause{Kind: localize.Node, ID: int32(n)}
			links := slices.DeleteFunc(linksOf(s.fabric, cause), func(l graphs.LinkID) bool { return by[l] == nil && s.toldByItself(l, n) })
			if xs := s.alike(by, links, 3, near); len(xs) > len(best.links) {
				best = common{cause, xs}
			}
		}
		if len(best.links) == 0 {
			break
		}
		list = append(list, best)
		for _, x := range best.links {
			delete(by, x.link)
		}
	}
	for i := range failed {
		if by[failed[i].link] != nil {
			list = append(list, common{localize.Cause{Kind: localize.Link, ID: int32(failed[i].link)}, failed[i : i+1]})
		}
	}
	return list
}

// alike lists the failed of some links if these are so many at least, and half of them, nothing known of the others says that they are well, and all failed alike.
func (s *Store) alike(failed map[graphs.LinkID]*linkState, links []graphs.LinkID, least int, near func(a, b *linkState) bool) []linkState {
	var xs []linkState
	for _, l := range links {
		x := failed[l]
		if x == nil && s.saidOf(l) || x != nil && len(xs) > 0 && !near(&xs[0], x) {
			return nil
		}
		if x != nil {
			xs = append(xs, *x)
		}
	}
	if len(xs) < least || 2*len(xs) < len(links) {
		return nil
	}
	return xs
}

// toldByItself reports whether only a node itself told of a link of its own, since it leads to a host: what died said nothing of it while it was dead.
func (s *Store) toldByItself(l graphs.LinkID, n graphs.NodeID) bool {
	return slices.ContainsFunc(s.fabric.Link(l).Ends[:], func(p graphs.PortID) bool {
		far := s.fabric.Port(p).Node
		return far != n && s.fabric.Node(far).IsHost() && s.ports.logs[p] == nil
	})
}

// stateSuspects are the links, groups and switches that are down or went down and up, by the word of ports. What probes found of routing
// going around them is put to them; those withdrawals that remain are returned.
func (s *Store) stateSuspects(d *Diagnosis, ports *portWords, gone []withdrawal) []withdrawal {
	var down, flapped []linkState
	for _, x := range ports.states {
		switch {
		case x.disabled != "" && (x.down || isGone(gone, x.link)):
			d.Cleared = append(d.Cleared, Cleared{ID: s.fabric.LinkName(x.link), Why: switchedOff + x.disabled + " was told to be"})
			gone = settle(gone, x.link)
		case x.disabled != "":
		case x.down && !s.comesAndGoes(&x):
			down = append(down, x)
		case x.outages > 0:
			flapped = append(flapped, x)
		case len(x.downs) > 0 && len(x.crossed) > 0:
			why := fmt.Sprintf("%s, yet %s", strings.Join(x.says, ", "), strings.Join(slices.Concat(x.against, x.crossed), ", "))
			d.Cleared = append(d.Cleared, Cleared{ID: s.fabric.LinkName(x.link), Why: why})
		}
	}
	add := func(c common, symptom Symptom) {
		out, nats := s.stateSuspect(c, symptom)
		nats, gone = s.downNow(&out, &c, nats, gone)
		if out.Probability = probabilityOf(nats); out.Probability >= leastListed {
			d.Suspects = append(d.Suspects, out)
			ports.cover(s.fabric, &c, out.Probability)
		}
	}
	for _, c := range s.share(down, func(_, _ *linkState) bool { return true }) {
		add(c, Down)
	}
	// What went down at different moments did so for different reasons.
	for _, c := range s.share(flapped, (*linkState).near) {
		add(c, Flap)
	}
	return gone
}

// comesAndGoes reports whether a link that is down went down and came up again before: several times, or once, if it has been down for no longer than from that
// time to this one. What stays down for longer than that is not expected to come up by itself.
func (s *Store) comesAndGoes(x *linkState) bool {
	if x.outages != 1 || len(x.at) == 0 || x.flap <= 0 {
		return x.outages > 1
	}
	return later(x.since, s.flowing.to).Sub(x.fell) <= x.fell.Sub(x.at[0])
}

// downNow tells what is lost as long as links are down, which may be all of a suspect's or, of what flaps, some. Withdrawals of these make it surer, and are told with it; those
// that remain are returned.
func (s *Store) downNow(out *Suspect, c *common, nats float64, gone []withdrawal) (float64, []withdrawal) {
	lost := absent{node: graphs.None}
	for _, x := range c.links {
		if x.down {
			lost.links = append(lost.links, x.link)
		}
	}
	if len(lost.links) == 0 {
		return nats, gone
	}
	if c.cause.Kind == localize.Node && len(lost.links) == len(c.links) {
		lost.node = graphs.NodeID(c.cause.ID)
	}
	for _, w := range gone {
		if w.holds(c.cause, s.fabric) {
			nats += min(avoided, -math.Log(max(w.chance, 1e-12)))
			out.Evidence = append(out.Evidence, Evidence{"probe", w.words()})
		}
	}
	for _, l := range lost.links {
		gone = settle(gone, l)
	}
	out.Evidence = append(out.Evidence, Evidence{"fabric", "capacity lost: " + s.capacityLost(lost)})
	return nats, gone
}

// cover notes the links of which it is told what they share. A switch that is gone takes those with it of which nobody tells.
func (w *portWords) cover(f *graphs.Fabric, c *common, probability float64) {
	if c.cause.Kind == localize.Link || probability < Named {
		return
	}
	for _, x := range c.links {
		w.covered[x.link] = true
	}
	if c.cause.Kind == localize.Node {
		for _, l := range linksOf(f, c.cause) {
			w.behind[l] = true
		}
	}
}

// near reports whether the last outages of two links were at about the same time.
func (x *linkState) near(y *linkState) bool {
	a, b := x.at[len(x.at)-1], y.at[len(y.at)-1]
	return a.Sub(b).Abs() <= together
}

// stateSuspect puts what ports say of the state of links into words, and returns its log odds: those of the least likely of the links.
func (s *Store) stateSuspect(c common, symptom Symptom) (out Suspect, nats float64) {
	out, nats = Suspect{Kind: string(c.cause.Kind), ID: s.name(c.cause), Symptom: symptom}, math.Inf(1)
	out.Class = []string{out.ID}
	if c.cause.Kind == localize.Link {
		out.Link = out.ID
	}
	var says, against, crossed []string
	for i := range c.links {
		x := &c.links[i]
		if symptom == Flap {
			sick := x.flap
			says = append(says, s.flapWords(x))
			if x.down {
				sick = max(sick, x.nats)
				says[len(says)-1] += "; now " + strings.Join(x.says, ", ")
				against = append(against, x.against...)
			}
			nats, out.isDown = min(nats, sick), x.down && (i == 0 || out.isDown)
			if x.still != "" {
				against = append(against, x.still+" says to have been up meanwhile")
			}
			if !x.back.IsZero() {
				out.Episodes = append(out.Episodes, Episode{Start: x.fell, To: x.back.Sub(x.fell)})
				crossed = append(crossed, x.crossed...)
			} else if period := x.period(); period > 0 {
				out.PeriodMS = int(period.Milliseconds())
			}
			out.once = x.outages == 1 && !x.down && (i == 0 || out.once)
			continue
		}
		nats = min(nats, x.nats)
		says = append(says, x.says...)
		if x.outages > 0 {
			says = append(says, "before that "+s.flapWords(x))
		}
		against, crossed = append(against, x.against...), append(crossed, x.crossed...)
	}
	out.For = strings.Join(says[:min(len(says), 6)], ", ")
	out.Evidence = append(out.Evidence, Evidence{"snmp", out.For})
	if symptom == Flap { // that packets cross it again is no doubt of it
		for _, text := range crossed[:min(len(crossed), 4)] {
			out.Evidence = append(out.Evidence, Evidence{s.instrument(), text})
		}
		crossed = nil
	}
	s.contradict(&out, against, crossed)
	out.Next = s.stateSteps(c, &out)
	return out, nats
}

// stateSteps say what to do about links that are down or flap, by what they share.
func (s *Store) stateSteps(c common, x *Suspect) []Step {
	ends := s.fabric.LinkName(c.links[0].link)
	switch {
	case c.cause.Kind == localize.Node:
		return []Step{restarted(x.ID)}
	case c.cause.Kind == localize.Group:
		return []Step{{Why: "what they share is sick, not each link", Do: "inspect " + x.ID}}
	case x.once:
		return []Step{{Why: "it is up again: find out what took it down", Do: "read the logs and the light levels at both ends of " + ends}}
	case x.Symptom == Flap:
		return []Step{{Why: "loose plug, dirty optic or a transmitter that fails", Do: "reseat " + ends + ", read the light levels at both ends"},
			{Why: "stop the harm while it is mended", Do: "drain " + ends + ", then measure again"}}
	}
	var steps []Step
	if a := c.links[0].link.Forward(); s.fabric.IsHostArc(a) {
		host := s.fabric.Head(a)
		if !s.fabric.Node(host).IsHost() {
			host = s.fabric.Tail(a)
		}
		steps = append(steps, Step{Why: "its port is dark, too, when the host is off", Do: "look whether " + s.fabric.NodeName(host) + " runs"})
	}
	return append(steps, Step{Why: "light, plug or port", Do: "read the light levels at " + strings.ReplaceAll(ends, "--", " and ") + ", reseat, then swap the cable"})
}

// contradict puts against a suspect what ports and what packets say against it, each in its own name.
func (s *Store) contradict(out *Suspect, ports, packets []string) {
	const most = 4
	ports, packets = ports[:min(len(ports), most)], packets[:min(len(packets), most)]
	if len(ports) > 0 {
		out.Doubts = append(out.Doubts, Evidence{string(evidence.SourceSNMP), strings.Join(ports, ", ")})
	}
	if len(packets) > 0 {
		out.Doubts = append(out.Doubts, Evidence{s.instrument(), strings.Join(packets, ", ")})
	}
	out.Against = cmp.Or(strings.Join(slices.Concat(ports, packets), ", "), "nothing")
}

// flapWords says how often and when a link went down.
func (s *Store) flapWords(x *linkState) string {
	text := fmt.Sprintf("%s went down and came up again %s", s.fabric.LinkName(x.link), timesWord(x.outages))
	if n := len(x.at); n > 0 && x.outages > n && !x.from.IsZero() && x.at[n-1].After(x.from) {
		text += " in " + x.at[n-1].Sub(x.from).Round(100*time.Millisecond).String()
	}
	last := ", the last time "
	if x.outages == 1 {
		last = ", "
	}
	if !x.back.IsZero() {
		return fmt.Sprintf("%s%sfrom %s, when %s read down, to %s at the latest: %s", text, last, s.dial().clock(x.fell), strings.Join(x.downs, " and "), s.dial().clock(x.back),
			strings.Join(x.crossed, ", "))
	}
	if period := x.period(); period > 0 {
		text += fmt.Sprintf(", every %s", period.Round(100*time.Millisecond))
	}
	if n := len(x.at); n > 0 {
		text += last + "at " + s.dial().clock(x.at[n-1])
	}
	if x.by != "" {
		text += " (" + graphs.Clean(x.by) + ")"
	}
	ends := s.fabric.Link(x.link).Ends
	if a, b := s.portLog(ends[0]), s.portLog(ends[1]); a.now().oper == evidence.Up && !a.saidDown() && !b.saidDown() {
		text += "; polls read up throughout"
	}
	return text
}
