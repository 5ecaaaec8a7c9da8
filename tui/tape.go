package tui

import (
	"cmp"
	"fmt"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"whichlink/graphs"
	"whichlink/internal/evidence"
)

// A Tape keeps what echoes measured, for the screen that shows it over time. One goroutine writes to it; the histories
// that it hands out are views of the same memory up to a point, cost nothing, never change, and may be read anywhere.
type Tape struct {
	fabric  *graphs.Fabric
	horizon time.Duration

	entries []tapeEntry
	flows   []evidence.Flow
	flowOf  map[evidence.Flow]int32
	ways    [][][]graphs.ArcID // by id of a way: the lists of arcs of which one is right
	wayOf   map[string]int32
	arcs    map[string]graphs.ArcID
	window  time.Duration // the longest window of an echo so far

	findings []*evidence.Record // of captures, the first maxFindings
	found    *Findings          // of all of them; nil if that is to be made
}

// A tapeEntry is one echo record. It is never changed once it stands on the tape.
type tapeEntry struct {
	at          time.Time // middle of its window
	flow        int32
	path, back  int32 // ways; -1 where unknown
	sent, lost  int32
	lostForward int32 // -1 where it could not be told
	lostBack    int32
	rtt         float64
}

// maxEntries and maxNames bound the memory of a tape, to some tens of megabytes.
const (
	maxEntries = 1 << 18
	maxNames   = 1 << 16
	// maxFindings is how many findings of captures are kept.
	maxFindings = 10_000
)

// NewTape makes an empty tape that keeps the records of the last horizon, by their own times; 0 means ten minutes. Of
// very many it keeps the newest.
func NewTape(f *graphs.Fabric, horizon time.Duration) *Tape {
	return &Tape{
		fabric: f, horizon: cmp.Or(horizon, 10*time.Minute),
		flowOf: map[evidence.Flow]int32{}, wayOf: map[string]int32{}, arcs: map[string]graphs.ArcID{},
	}
}

// Add puts a record on the tape. Only echoes whose path is known, and findings, leave a trace there.
func (t *Tape) Add(r *evidence.Record) {
	if r.Kind == evidence.KindFinding && len(t.findings) < maxFindings {
		t.findings, t.found = append(t.findings, r), nil
	}
	if r.Kind != evidence.KindEcho || r.Flow == nil || r.Sent == nil || r.Lost == nil {
		return
	}
	e := tapeEntry{
		at:   r.Time.Add(-time.Duration(r.WindowMS) * time.Millisecond / 2),
		path: t.way(r.Path, r.Candidates), back: t.way(r.Back, r.CandidatesBack),
		sent: int32(*r.Sent), lost: int32(*r.Lost), lostForward: -1, lostBack: -1, rtt: math.NaN(),
	}
	if e.path < 0 && e.back < 0 {
		return
	}
	if r.LostForward != nil && r.LostBack != nil {
		e.lostForward, e.lostBack = int32(*r.LostForward), int32(*r.LostBack)
	}
	if r.RTT != nil {
		e.rtt = r.RTT.P50
	}
	if len(t.flows) > maxNames || len(t.ways) > maxNames {
		// So many flows or paths are those of many epochs: what is old goes, all of it. Views that are out keep theirs.
		window, findings := t.window, t.findings
		*t = *NewTape(t.fabric, t.horizon)
		t.window, t.findings = window, findings
		t.Add(r)
		return
	}
	id, ok := t.flowOf[*r.Flow]
	if !ok {
		id = int32(len(t.flows))
		t.flowOf[*r.Flow] = id
		t.flows = append(t.flows, *r.Flow)
	}
	e.flow = id
	t.window = max(t.window, time.Duration(r.WindowMS)*time.Millisecond)
	t.entries = append(t.entries, e)
	// Records of several hosts arrive a little out of order; what is long past goes from the front all the same.
	for len(t.entries) > 0 && (e.at.Sub(t.entries[0].at) > t.horizon || len(t.entries) > maxEntries) {
		t.entries = t.entries[1:]
	}
}

// way returns the id of a path or of a set of candidates, -1 if it is unknown or not of this fabric.
func (t *Tape) way(path []string, candidates [][]string) int32 {
	if len(path) > 0 {
		candidates = [][]string{path}
	}
	if len(candidates) == 0 {
		return -1
	}
	var b strings.Builder
	for _, c := range candidates {
		for _, name := range c {
			b.WriteString(name)
			b.WriteByte(' ')
		}
		b.WriteByte('\n')
	}
	if id, ok := t.wayOf[b.String()]; ok {
		return id
	}
	alternatives := make([][]graphs.ArcID, len(candidates))
	id := int32(len(t.ways))
	for i, c := range candidates {
		for _, name := range c {
			a, ok := t.arcs[name]
			if !ok {
				if a, ok = t.fabric.ArcByName(name); !ok {
					id = -1
					continue
				}
				t.arcs[name] = a
			}
			alternatives[i] = append(alternatives[i], a)
		}
	}
	t.wayOf[b.String()] = id
	if id >= 0 {
		t.ways = append(t.ways, alternatives)
	}
	return id
}

// History returns all that is on the tape now.
func (t *Tape) History() History {
	return &tapeView{fabric: t.fabric, entries: t.entries, flows: t.flows, ways: t.ways, window: t.window}
}

// Findings returns what captures prove, nil if there is nothing of the kind.
func (t *Tape) Findings() *Findings {
	if t.found == nil && len(t.findings) > 0 {
		t.found = NewFindings(t.findings)
	}
	return t.found
}

type tapeView struct {
	fabric  *graphs.Fabric
	entries []tapeEntry
	flows   []evidence.Flow
	ways    [][][]graphs.ArcID
	window  time.Duration
}

// maxBins bounds a series: no screen is wider.
const maxBins = 300

// Link implements [History].
func (v *tapeView) Link(l graphs.LinkID) *LinkDetail {
	over := make([]crossing, len(v.ways))
	for i, alternatives := range v.ways {
		over[i] = crossingOf(alternatives, l)
	}
	at := func(way int32) crossing {
		if way < 0 {
			return crossing{arc: graphs.None}
		}
		return over[way]
	}
	var first, last time.Time
	for i := range v.entries {
		e := &v.entries[i]
		if at(e.path).arc == graphs.None && at(e.back).arc == graphs.None {
			continue
		}
		if first.IsZero() || e.at.Before(first) {
			first = e.at
		}
		if e.at.After(last) {
			last = e.at
		}
	}
	if first.IsZero() {
		return nil
	}
	d := &LinkDetail{Link: l, Bin: binFor(last.Sub(first), v.window)}
	// Bins begin at multiples of their length, so that they stay where they are as time goes on.
	d.Start = first.Truncate(d.Bin)
	bins := int(last.Sub(d.Start)/d.Bin) + 1

	index := map[seriesKey]int{}
	for i := range v.entries {
		e := &v.entries[i]
		bin := int(e.at.Sub(d.Start) / d.Bin)
		for _, leg := range [2]struct {
			crossing
			answers bool
			lost    int32
		}{{at(e.path), false, e.lostForward}, {at(e.back), true, e.lostBack}} {
			if leg.arc == graphs.None {
				continue
			}
			k := seriesKey{e.flow, leg.arc, leg.answers}
			j, ok := index[k]
			if !ok {
				j = len(d.Flows)
				index[k] = j
				d.Flows = append(d.Flows, newSeries(flowName(v.flows[e.flow]), leg.arc, leg.answers, bins))
			}
			s := &d.Flows[j]
			s.Maybe = s.Maybe || leg.maybe
			lost := leg.lost
			if lost < 0 {
				lost = e.lost
				s.Whole = true
			}
			s.Sent[bin] += int(e.sent)
			s.Lost[bin] += int(lost)
			// Of several medians in one bin the worst shows: a step in delay must not be averaged away.
			if !math.IsNaN(e.rtt) && !(s.RTT[bin] >= e.rtt) {
				s.RTT[bin] = e.rtt
			}
		}
	}
	return d
}

type seriesKey struct {
	flow    int32
	arc     graphs.ArcID
	answers bool
}

// A crossing says in which direction a way crosses a link, if it does, and whether all its alternatives do.
type crossing struct {
	arc   graphs.ArcID
	maybe bool
}

func crossingOf(alternatives [][]graphs.ArcID, l graphs.LinkID) crossing {
	c := crossing{arc: graphs.None}
	crossed := 0
	for _, arcs := range alternatives {
		if i := slices.IndexFunc(arcs, func(a graphs.ArcID) bool { return a.Link() == l }); i >= 0 {
			c.arc = arcs[i]
			crossed++
		}
	}
	c.maybe = crossed < len(alternatives)
	return c
}

func newSeries(flow string, arc graphs.ArcID, answers bool, bins int) FlowSeries {
	s := FlowSeries{Flow: flow, Arc: arc, Answers: answers,
		Sent: make([]int, bins), Lost: make([]int, bins), RTT: make([]float64, bins)}
	for i := range s.RTT {
		s.RTT[i] = math.NaN()
	}
	return s
}

// binFor returns the shortest round length of a bin that holds a record's window and does not make too many bins.
func binFor(all, window time.Duration) time.Duration {
	steps := []time.Duration{1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600}
	for _, s := range steps {
		if b := s * time.Second; b >= window && all/b < maxBins-1 {
			return b
		}
	}
	return max(window, all/(maxBins-2)).Round(time.Second) + time.Second
}

func flowName(f evidence.Flow) string {
	end := func(a string, port uint16) string { return net.JoinHostPort(a, strconv.Itoa(int(port))) }
	name := fmt.Sprintf("%s>%s %s", end(f.Src.String(), f.SrcPort), end(f.Dst.String(), f.DstPort), f.Proto)
	if f.DSCP != 0 {
		name += fmt.Sprintf(" dscp %d", f.DSCP)
	}
	if f.Label != 0 {
		name += fmt.Sprintf(" label %d", f.Label)
	}
	return name
}
