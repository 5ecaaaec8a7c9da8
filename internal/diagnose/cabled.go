package diagnose

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"

	"whichlink/graphs"
	"whichlink/graphs/cabling"
	"whichlink/graphs/spelling"
	"whichlink/internal/evidence"
)

// What neighbours say of a planned link adds up in nats: a port that hears another than planned, the other one that hears it too, an older
// word that says otherwise, and packets that came over the link as it was planned.
const (
	rightlyWired = -3
	hearsWrong   = 4
	heardAsWell  = 3
	heardOlder   = 2
	// crossedAsPlan is what it weighs if clocks may be to blame that packets came over the link so late.
	crossedAsPlan = 5
)

// A cabled is the cabling as ports hear it, against the plan. It is kept as long as nothing new is heard.
type cabled struct {
	version int
	wires   []wire
	*cabling.Comparison
	notes []string
}

// A wire is one port's word on the other end of its cable.
type wire struct {
	ends      [2]wireEnd
	since, at time.Time // when that was first said, and last
}

// A wireEnd is a port by the plan's names, where the plan has it.
type wireEnd struct {
	node, port string
	id         graphs.PortID // None if the plan has no such port
}

func (e wireEnd) String() string { return e.node + ":" + e.port }

// wired compares what ports hear with the plan.
func (s *Store) wired() *cabled {
	c := &s.ports.cabling
	if c.version == s.ports.version {
		return c
	}
	*c = cabled{version: s.ports.version}
	unnamed, foreign, example := 0, 0, ""
	take := func(e wireEnd, log *portLog) {
		if len(log.heard) == 0 {
			return
		}
		h := log.heard[len(log.heard)-1]
		switch far := h.named(); {
		case far == "":
		case h.port == "":
			unnamed++
		default:
			w := wire{ends: [2]wireEnd{e, s.wireEnd(far, h.port)}, since: log.heardSince(), at: h.at}
			if s.namedOtherwise(w.ends[0], w.ends[1]) || s.namedOtherwise(w.ends[1], w.ends[0]) {
				foreign, example = foreign+1, cmp.Or(example, fmt.Sprintf("%s hears %s", w.ends[0], w.ends[1]))
				return
			}
			c.wires = append(c.wires, w)
		}
	}
	for _, p := range s.portsSaid() {
		port := s.fabric.Port(p)
		take(wireEnd{s.fabric.NodeName(port.Node), port.Name, p}, s.ports.logs[p])
	}
	for _, name := range slices.Sorted(maps.Keys(s.ports.elsewhere)) {
		if node, port, ok := strings.Cut(name, ":"); ok {
			take(s.wireEnd(node, port), s.ports.elsewhere[name])
		}
	}
	if unnamed > 0 {
		c.notes = append(c.notes, fmt.Sprintf("neighbours that tell no port, and so say nothing of cables: %d", unnamed))
	}
	if foreign > 0 {
		c.notes = append(c.notes, fmt.Sprintf("neighbours that are the planned ones and name their ports otherwise than the fabric file does, which says nothing of cables: %d (%s)", foreign, example))
	}
	if len(c.wires) == 0 {
		return c
	}
	c.renamed(s)
	c.compare(s.fabric)
	return c
}

// namedOtherwise reports whether the far end of a port's cable is the node that it should be, at a port whose name is not like any that the plan has there, such as an address or the name that
// another system gives it, or the node itself to who asks it. Of a cable in the wrong port of the right node the name is like those of others.
func (s *Store) namedOtherwise(near, far wireEnd) bool {
	if near.id == graphs.None || far.id != graphs.None || s.fabric.Port(near.id).Link == graphs.None {
		return false
	}
	n := s.fabric.Head(s.fabric.ArcFrom(near.id))
	if s.fabric.NodeName(n) != far.node {
		return false
	}
	word := func(port string) string {
		word, _, _ := strings.Cut(strings.Map(func(r rune) rune {
			if unicode.IsDigit(r) {
				return '0'
			}
			return r
		}, spelling.Port(port)), "0")
		return word
	}
	heard := word(far.port)
	return !slices.ContainsFunc(s.fabric.Ports(n), func(p graphs.PortID) bool { return word(s.fabric.Port(p).Name) == heard })
}

// wireEnd names a port as the plan does, if the plan has it.
func (s *Store) wireEnd(node, port string) wireEnd {
	if p := s.portOf(node, port); p != graphs.None {
		x := s.fabric.Port(p)
		return wireEnd{s.fabric.NodeName(x.Node), x.Name, p}
	}
	e := wireEnd{node: plainName(node), port: plainName(port), id: graphs.None}
	if n := s.nodeSpelled(node); n != graphs.None {
		e.node = s.fabric.NodeName(n)
	} else if plain := spelling.Node(node); plain != "" {
		e.node = plainName(plain)
	}
	return e
}

// plainName makes a name from the network one that a fabric can hold.
func plainName(name string) string {
	return cmp.Or(strings.NewReplacer(":", "-", ">", "-").Replace(graphs.Clean(name)), "?")
}

// compare draws what was heard as a fabric of its own. Of two words on one port the newer counts.
func (c *cabled) compare(plan *graphs.Fabric) {
	slices.SortStableFunc(c.wires, func(a, b wire) int {
		return cmp.Or(b.at.Compare(a.at), cmp.Compare(a.ends[0].String(), b.ends[0].String()))
	})
	b := graphs.Builder{Name: "heard"}
	config := cabling.Config{}
	node := func(name string) (graphs.NodeID, bool) {
		if n, ok := b.NodeByName(name); ok {
			return n, true
		}
		n, err := b.AddNode(graphs.Node{Name: name, Role: "switch"})
		return n, err == nil
	}
	taken := map[string]bool{} // ports whose cables are drawn
	for i := range c.wires {
		w := &c.wires[i]
		near, far := w.ends[0].String(), w.ends[1].String()
		if taken[near] || taken[far] {
			continue
		}
		taken[near], taken[far] = true, true
		if w.ends[0].node == w.ends[1].node {
			config.Loops = append(config.Loops, [2]string{near, far})
			node(w.ends[0].node)
			continue
		}
		m, ok := node(w.ends[0].node)
		n, ok2 := node(w.ends[1].node)
		if ok && ok2 {
			// A name that no fabric can hold is left out: there is nothing to say of it.
			_, _ = b.AddLink(graphs.End{Node: m, Port: w.ends[0].port}, graphs.End{Node: n, Port: w.ends[1].port}, 0)
		}
	}
	for p := range graphs.PortID(plan.NumPorts()) {
		if !taken[plan.PortName(p)] {
			config.Dark = append(config.Dark, plan.PortName(p)) // nobody was asked, or nobody is there: no reason to lay a cable
		}
	}
	if observed, err := b.Build(); err == nil {
		c.Comparison = cabling.Compare(plan, observed, config)
	}
}

// miswired are the planned links whose ports hear others than planned, with the plugs to move, and those of which that is contradicted so that it is not worth a suspect.
func (s *Store) miswired(c *cabled) (out []Suspect, cleared []Cleared) {
	if c.Comparison == nil {
		return nil, nil
	}
	told := map[graphs.LinkID]bool{}
	for i := range c.Mends {
		links := slices.DeleteFunc(s.linksOfMend(c, i), func(l graphs.LinkID) bool { return told[l] })
		for _, l := range links {
			told[l] = true
		}
		for _, l := range links {
			out = append(out, s.miswire(c, l, links, c.Mends[i].Text()))
		}
	}
	for _, w := range c.Wrong {
		if p, ok := s.fabric.PortByName(w.Port); ok {
			if l := s.fabric.Port(p).Link; !told[l] {
				told[l] = true
				out = append(out, s.miswire(c, l, []graphs.LinkID{l}, ""))
			}
		}
	}
	out = slices.DeleteFunc(out, func(x Suspect) bool {
		doubted := x.Probability < leastListed
		if doubted && len(x.Doubts) > 0 {
			_, heard, _ := strings.Cut(x.For, "; ")
			cleared = append(cleared, Cleared{ID: x.ID, Why: heard + ", yet " + x.Against})
		}
		return doubted
	})
	return out, cleared
}

// linksOfMend lists the planned links that the plugs of a mend belong to, as far as something was heard of them.
func (s *Store) linksOfMend(c *cabled, i int) []graphs.LinkID {
	var links []graphs.LinkID
	for _, m := range c.Mends[i].Moves {
		for _, name := range []string{m.From, m.To, m.Stays} {
			if p, ok := s.fabric.PortByName(name); ok {
				if l := s.fabric.Port(p).Link; c.touches(s.fabric, l) {
					links = append(links, l)
				}
			}
		}
	}
	slices.Sort(links)
	return slices.Compact(links)
}

// mendOf says which plugs to move for a link, if that is known.
func (s *Store) mendOf(c *cabled, l graphs.LinkID) string {
	if c.Comparison == nil {
		return ""
	}
	for i := range c.Mends {
		if slices.Contains(s.linksOfMend(c, i), l) {
			return c.Mends[i].Text()
		}
	}
	return ""
}

// touches reports whether a port of a planned link is at either end of a cable that was heard.
func (c *cabled) touches(f *graphs.Fabric, l graphs.LinkID) bool {
	e := f.Link(l).Ends
	return slices.ContainsFunc(c.wires, func(w wire) bool {
		return slices.Contains(e[:], w.ends[0].id) || slices.Contains(e[:], w.ends[1].id)
	})
}

// wordsOn weighs what ports say on a planned link, and what packets do.
func (s *Store) wordsOn(c *cabled, l graphs.LinkID) (nats float64, says, against, crossed []string) {
	ends := s.fabric.Link(l).Ends
	nats = rightlyWired
	var first, newest time.Time
	best := math.Inf(-1)
	for i := range c.wires {
		w := &c.wires[i]
		for side, e := range w.ends {
			if e.id == graphs.None || !slices.Contains(ends[:], e.id) {
				continue
			}
			far := w.ends[1-side]
			planned := ends[0] ^ ends[1] ^ e.id
			text := fmt.Sprintf("%s hears %s", w.ends[0], w.ends[1])
			switch {
			case far.id == planned && far.id != graphs.None:
				if side == 1 {
					continue // it was counted at its other end
				}
				nats -= heardOlder
				against = append(against, text+", as planned")
			default:
				// The first word on a cable weighs more than the other end's.
				if slices.Contains(says, fmt.Sprintf("%s hears %s", far, e)) {
					nats += heardAsWell
				} else {
					denied, why := s.denied(c, w, far)
					nats += max(0, hearsWrong-denied)
					best = max(best, hearsWrong-denied)
					against = append(against, why...)
				}
				says = append(says, text)
				newest = later(newest, w.at)
				first = soonest(first, w.since)
			}
		}
	}
	if len(says) > 0 {
		nats += min(0, best) // none of them is to be believed
	}
	// Flows that are seen on the link as it was planned while ports hear otherwise may be taken for that by the plan, in part; what a port heard long before
	// they were is no longer so.
	if p := s.passages(l, newest.Add(lldpHolds), time.Time{}); p.flows > 0 {
		nats = min(nats, 0) - p.nats()
		crossed = append(crossed, p.words("as planned later", s.dial()))
	} else if p := s.passages(l, first.Add(clocksApart), time.Time{}); p.flows > 0 {
		nats = min(nats, toldRing) - p.nats()
		crossed = append(crossed, p.words("as planned", s.dial()))
	} else if at := s.crossedAfter(l, newest); !at.IsZero() {
		nats -= crossedAsPlan
		crossed = append(crossed, "packets crossed it as planned later, at "+s.dial().clock(at))
	}
	return nats, says, against, crossed
}

// denied weighs what speaks against one port's word on a cable at the other of its ends: where that is plugged as planned, the word is wrong, whatever is plugged in where it was said.
func (s *Store) denied(c *cabled, w *wire, far wireEnd) (nats float64, why []string) {
	if far.id == graphs.None || s.fabric.Port(far.id).Link == graphs.None {
		return 0, nil
	}
	l := s.fabric.Port(far.id).Link
	ends := s.fabric.Link(l).Ends
	planned := ends[0] ^ ends[1] ^ far.id
	for i := range c.wires {
		if x := c.wires[i].ends; x[0].id == planned && x[1].id == far.id {
			nats += heardOlder
			why = append(why, fmt.Sprintf("%s hears %s, as planned", x[0], x[1]))
		}
	}
	if p := s.passages(l, w.at.Add(lldpHolds), time.Time{}); p.flows > 0 {
		nats += hearsWrong + p.nats()
		why = append(why, p.words("as planned later", s.dial())+" over "+s.fabric.LinkName(l))
	}
	return nats, why
}

// miswire says of one planned link what its ports hear, and what speaks against it.
func (s *Store) miswire(c *cabled, l graphs.LinkID, ring []graphs.LinkID, mend string) Suspect {
	name := s.fabric.LinkName(l)
	out := Suspect{Kind: "link", ID: name, Link: name, Symptom: Miswire, Class: []string{name}}
	nats, says, against, crossed := s.wordsOn(c, l)
	out.Probability = probabilityOf(nats)
	out.For = fmt.Sprintf("planned is %s; %s", name, strings.Join(says[:min(len(says), 4)], ", "))
	out.Evidence = []Evidence{{string(evidence.SourceSNMP), out.For}}
	s.contradict(&out, against, crossed)
	var others []string
	for _, k := range ring {
		if k != l {
			others = append(others, s.fabric.LinkName(k))
		}
	}
	if len(others) > 0 {
		out.Evidence = append(out.Evidence, Evidence{string(evidence.SourceSNMP), "exchanged with " + strings.Join(others[:min(len(others), 4)], ", ")})
	}
	if mend != "" {
		out.Next = append(out.Next, Step{Why: "put the plugs where the plan wants them", Do: mend})
	}
	out.Next = append(out.Next, Step{Why: "see all of the cabling against the plan", Do: "whichlink fabric diff PLAN OBSERVED"})
	return out
}
