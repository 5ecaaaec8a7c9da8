package tui

import (
	"slices"
	"strings"

	"whichlink/graphs"
	"whichlink/internal/diagnose"
	"whichlink/internal/evidence"
)

// snapshot returns a snapshot in which nothing has its name. What cannot be hidden is not shown.
func (m *mask) snapshot(s *Snapshot) *Snapshot {
	if m == nil || s == nil {
		return s
	}
	if s.Fabric != m.hide.from {
		if err := m.learn(s.Fabric); err != nil {
			return &Snapshot{Now: s.Now, Zone: s.Zone, Live: s.Live, Status: err.Error(), mask: m}
		}
	}
	c := *s
	c.mask, c.Fabric = m, m.hide.to
	c.Diagnosis, c.Picture, c.Findings = m.diagnosed(s.Diagnosis), m.pictured(s.Picture), m.found(s.Findings, s.Picture)
	if c.Status = m.text(s.Status); strings.ContainsAny(s.Status, "./") {
		c.Status = m.source(s.Status)
	}
	if s.History != nil {
		c.History = maskedHistory{s.History, m}
	}
	if s.Inquiry != nil {
		p := *s.Inquiry
		p.Says = m.text(p.Says)
		c.Inquiry = &p
	}
	c.Faults = slices.Clone(s.Faults)
	for i := range c.Faults {
		c.Faults[i].Text = m.text(c.Faults[i].Text)
	}
	c.Rounds = slices.Clone(s.Rounds)
	for i := range c.Rounds {
		r := &c.Rounds[i]
		r.Text, r.About, r.Program.Named, r.You.Named = m.text(r.Text), m.name(r.About), m.name(r.Program.Named), m.name(r.You.Named)
	}
	return &c
}

func (m *mask) names(list []string) []string {
	out := slices.Clone(list)
	for i := range out {
		out[i] = m.name(out[i])
	}
	return out
}

func (m *mask) diagnosed(d *diagnose.Diagnosis) *diagnose.Diagnosis {
	if d == nil || d == m.diagnosis[0] {
		return m.diagnosis[1]
	}
	c := *d
	if c.Summary = m.text(d.Summary); d.Fabric != "" {
		c.Fabric = "fabric"
	}
	// A list of all arcs may be long, and nobody sees more than its head.
	c.Coverage.Unmeasured = make([]string, len(d.Coverage.Unmeasured))
	copy(c.Coverage.Unmeasured, m.names(d.Coverage.Unmeasured[:min(len(d.Coverage.Unmeasured), mostDark)]))
	c.Sources = slices.Clone(d.Sources)
	for i := range c.Sources {
		c.Sources[i].By = m.source(d.Sources[i].By)
	}
	c.Suspects = slices.Clone(d.Suspects)
	for i := range c.Suspects {
		m.suspect(&c.Suspects[i])
	}
	c.Cleared = slices.Clone(d.Cleared)
	for i, x := range d.Cleared {
		c.Cleared[i] = diagnose.Cleared{ID: m.name(x.ID), Why: m.text(x.Why)}
	}
	c.Notes = slices.Clone(d.Notes)
	for i := range c.Notes {
		c.Notes[i] = m.text(c.Notes[i])
	}
	m.diagnosis = [2]*diagnose.Diagnosis{d, &c}
	return &c
}

func (m *mask) suspect(x *diagnose.Suspect) {
	x.ID, x.Link, x.Class = m.name(x.ID), m.name(x.Link), m.names(x.Class)
	x.For, x.Against = m.text(x.For), m.text(x.Against)
	sentences := func(list []diagnose.Evidence) []diagnose.Evidence {
		list = slices.Clone(list)
		for i := range list {
			list[i].Text = m.text(list[i].Text)
		}
		return list
	}
	x.Evidence, x.Doubts, x.Next = sentences(x.Evidence), sentences(x.Doubts), slices.Clone(x.Next)
	for i, n := range x.Next {
		x.Next[i] = diagnose.Step{Why: m.text(n.Why), On: m.text(n.On), Do: m.text(n.Do)}
	}
}

func (m *mask) pictured(p *diagnose.Picture) *diagnose.Picture {
	if p == nil {
		return nil
	}
	if p == m.picture[0] {
		return m.picture[1]
	}
	c := *p
	c.Diagnosis, c.Fabric = m.diagnosed(p.Diagnosis), m.hide.to
	c.Events = slices.Clone(p.Events)
	for i := range c.Events {
		x := &c.Events[i]
		if x.Lane == string(evidence.SourceNote) { // whatever somebody wrote
			x.What, x.About = "(hidden)", m.source(x.About)
		} else {
			x.What, x.About = m.text(x.What), m.name(x.About)
		}
	}
	m.picture = [2]*diagnose.Picture{p, &c}
	return &c
}

// found masks what captures prove. Where it lies in the fabric was worked out before, and is the same.
func (m *mask) found(f *Findings, p *diagnose.Picture) *Findings {
	if f == nil {
		return nil
	}
	if f == m.findings[0] {
		return m.findings[1]
	}
	f.Place(p)
	c := &Findings{worst: make([]*evidence.Record, len(f.worst))}
	for i, r := range f.worst {
		c.worst[i] = m.record(r)
	}
	if p != nil {
		c.once.Do(func() {
			c.ways, c.certain = map[*evidence.Record][]crossed{}, f.certain
			for r, ways := range f.ways {
				c.ways[m.record(r)] = ways
			}
		})
	}
	m.findings = [2]*Findings{f, c}
	return c
}

// record masks the record of a finding: what of it is shown.
func (m *mask) record(r *evidence.Record) *evidence.Record {
	if m == nil || r == nil {
		return r
	}
	c, ok := m.records[r]
	if !ok {
		if len(m.records) > 2*maxFindings {
			clear(m.records)
			clear(m.behind)
		}
		x := *r
		c = &x
		c.By, c.At, c.To, c.Subject, c.Text, c.Rule, c.Filter = m.source(r.By), m.name(r.At), m.name(r.To), m.name(r.Subject), m.text(r.Text), m.text(r.Rule), m.text(r.Filter)
		m.records[r], m.behind[c] = c, r
	}
	return c
}

// unmasked returns the record behind a masked one, and any other as it is.
func (m *mask) unmasked(r *evidence.Record) *evidence.Record {
	if m != nil && m.behind[r] != nil {
		return m.behind[r]
	}
	return r
}

// packets masks the packets behind a finding.
func (m *mask) packets(p *Packets) *Packets {
	if m == nil || p == nil {
		return p
	}
	c := &Packets{slices.Clone(p.Lines), p.Total}
	for i := range c.Lines {
		x := &c.Lines[i]
		x.File, x.Src, x.Dst, x.Info = m.source(x.File), m.text(x.Src), m.text(x.Dst), m.text(x.Info)
	}
	return c
}

// proposal masks what an inquiry would send.
func (m *mask) proposal(p Proposal) Proposal {
	if m == nil {
		return p
	}
	p.Inquiry = Inquiry{p.Inquiry.Kind, m.name(p.Inquiry.Of), m.name(p.Inquiry.Src), m.name(p.Inquiry.Dst)}
	p.Title, p.Target, p.Rate, p.Answer = m.text(p.Title), m.text(p.Target), m.text(p.Rate), m.text(p.Answer)
	return p
}

// inquiry puts real names into an inquiry.
func (m *mask) inquiry(q Inquiry) Inquiry {
	return Inquiry{q.Kind, m.real(q.Of), m.real(q.Src), m.real(q.Dst)}
}

// A maskedHistory hides the addresses of flows.
type maskedHistory struct {
	History
	mask *mask
}

func (h maskedHistory) Link(l graphs.LinkID) *LinkDetail {
	d := h.History.Link(l)
	if d == nil {
		return nil
	}
	c := *d
	c.Flows = slices.Clone(d.Flows)
	for i := range c.Flows {
		c.Flows[i].Flow = h.mask.text(c.Flows[i].Flow)
	}
	return &c
}

func (h maskedHistory) Pair(src, dst graphs.NodeID) []PairFlow {
	list := h.History.Pair(src, dst)
	for i := range list {
		list[i].Flow = h.mask.text(list[i].Flow)
	}
	return list
}

// worstPair is that of the history, if it knows one.
func (h maskedHistory) worstPair(l graphs.LinkID) (src, dst graphs.NodeID, ok bool) {
	if w, knows := h.History.(worstKnowing); knows {
		return w.worstPair(l)
	}
	return 0, 0, false
}
