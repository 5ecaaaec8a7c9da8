package diagnose

import (
	"slices"

	"whichlink/graphs"
	"whichlink/pathfind/localize"
)

// busy returns the hosts that hardly run, and those that lost more packets by being busy than is left of what the flows from and to them lost: of that, too, much may be
// their own doing.
func (s *Store) busy() map[graphs.NodeID]bool {
	if s.strained.busy != nil {
		return s.strained.busy
	}
	hosts := map[graphs.NodeID]bool{}
	s.strained.busy = hosts
	for n := range s.strained.ever {
		hosts[n] = true
	}
	if len(s.strained.left) == 0 {
		return hosts
	}
	rest := map[graphs.NodeID]int{}
	for _, l := range s.order {
		for i := range l.echoes {
			rest[l.src] += l.echoes[i].lost
			rest[l.dst] += l.echoes[i].lost
		}
	}
	for n, left := range s.strained.left {
		hosts[n] = hosts[n] || left.lost > rest[n]
	}
	return hosts
}

// strainNotes say what was left out, by the order of the fabric's nodes.
func (s *Store) strainNotes() []string {
	var notes []string
	for n := range graphs.NodeID(s.fabric.NumNodes()) {
		if left := s.strained.left[n]; left != nil {
			notes = append(notes, s.fabric.NodeName(n)+" "+left.words(s.dial()))
		}
		if s.strained.ever[n] {
			notes = append(notes, s.fabric.NodeName(n)+" stood still for most of the time: what it measured is used, and may be its own doing")
		}
	}
	return notes
}

// doubtStrained adds to suspects at a host that was too busy what was left out for that.
func (s *Store) doubtStrained(d *Diagnosis) {
	for n := range graphs.NodeID(s.fabric.NumNodes()) {
		left := s.strained.left[n]
		if left == nil {
			continue
		}
		at := map[string]bool{s.fabric.NodeName(n): true}
		for _, a := range s.fabric.Out(n) {
			at[s.fabric.LinkName(a.Link())] = true
		}
		for i := range d.Suspects {
			if x := &d.Suspects[i]; at[x.ID] || at[x.Link] {
				x.Doubts = append(x.Doubts, Evidence{s.instrument(), s.fabric.NodeName(n) + " " + left.words(s.dial())})
			}
		}
	}
}

// doubtBusy lowers what comes and goes where hosts were too busy for probes: what comes of the link of such a host may be its own doing, and of anything else that is lost in storms
// more than a few flows must tell that surely crossed it, or many that may have.
func (s *Store) doubtBusy(out *Suspect, sus *localize.Suspect, seen *observer, heard *witnesses) {
	const sure, maybe = 2, 10
	if seen.storms == 0 && len(out.Episodes) == 0 || len(s.strains) == 0 {
		return
	}
	busy := s.busy()
	atBusy := func(l graphs.LinkID) bool {
		return slices.ContainsFunc(s.fabric.Link(l).Ends[:], func(p graphs.PortID) bool { return busy[s.fabric.Port(p).Node] })
	}
	own := slices.ContainsFunc(sus.Class, func(c localize.Cause) bool {
		return c.Kind != localize.Node && slices.ContainsFunc(linksOf(s.fabric, c), atBusy)
	})
	if few := seen.storms > 0 && heard.probes.lossy < sure && heard.unsureProbes.lossy < maybe; own || few && len(busy) > 0 {
		out.Probability = min(out.Probability, shaded)
		out.Against = "hosts were too busy for their probes, and may have lost these packets themselves; " + out.Against
	}
}
