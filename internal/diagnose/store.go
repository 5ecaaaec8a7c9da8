package diagnose

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"whichlink/graphs"
	"whichlink/internal/evidence"
	"whichlink/pathfind"
	"whichlink/pathfind/heat"
	"whichlink/pathfind/localize"
	"whichlink/pathfind/next"
)

// A Store keeps the evidence of one investigation and answers with a [Diagnosis]. One goroutine owns it.
type Store struct {
	fabric *graphs.Fabric
	ecmp   *pathfind.ECMP
	// model is the forwarding model that the fabric's switches name; nil where it is not known, so that untraced flows may go anywhere.
	model pathfind.Model
	cfg   Config
	// spread is how flows spread over the paths of ECMP; nil until asked for.
	spread *pathfind.EqualCost

	solved   *localize.Result        // of the newest diagnosis
	flapping []localize.Suspect      // the outages of the newest diagnosis
	measured []bool                  // by arc, as that diagnosis has it
	lists    *observer               // of what the forwarding model allows, for that diagnosis; nil until asked for
	chooser  *next.Planner           // of flows that would tell more; nil until asked for
	presence *presence               // of hosts, as that diagnosis has it
	stops    map[localize.Cause]stop // which suspects of that diagnosis may have stopped
	vision   *vision                 // of traces, as that diagnosis has it
	// misplaced are cables that traces find elsewhere than planned, nextTo planned ones between switches that have such a cable between them.
	misplaced, nextTo map[graphs.LinkID]bool
	spared            map[localize.Cause]bool // suspects of that diagnosis from which only packets of captures suffer

	arcs    map[string]graphs.ArcID
	flows   map[flowKey]*tellers // by what switches hash of them
	retold  []*tellers           // those of which more than one tells
	order   []*flowLog           // in the order of their keys when there is a diagnosis, so that answers depend neither on a map nor on what was read first
	mixed   bool                 // it is not in that order
	sources map[sourceKey]*Source
	keys    []sourceKey
	skipped map[string]int // records that could not be used, by reason
	strange map[string]int // addresses that answered and are not in the fabric
	words   said           // what sources had to say in words
	strains []strain       // when hosts were too busy for probes
	// refusals are when hosts dropped what they were to send.
	refusals []strain
	// strained is what was left out for that in the newest diagnosis.
	strained strained

	ports   portRecords              // what switches and hosts said of their ports
	spelled map[string]graphs.NodeID // nodes by the canonical form of their names, made when first asked

	from, to time.Time
	spans    map[sourceKey]stretch    // of each source
	fast     map[string]time.Duration // by how much clocks of probers are ahead, which is taken off their times
	slowness *slowness                // as last looked at
	heated   heated                   // as last looked at

	chronicle chronicle
	evenly    []float64 // what each arc carries of one unit of traffic between any two; nil until asked for
}

// Config says how a Store weighs evidence. The zero value works.
type Config struct {
	// Horizon is how far back from the newest record evidence counts; 0 means all of it.
	Horizon time.Duration
	// Series is filled with what ports of the fabric count, if it is not nil.
	Series *PortSeries
	// Traffic is the measured traffic between hosts or switches that loads are held against; nil to estimate it from the loads.
	Traffic []heat.Flow
	// FabricFile is the name of the fabric's file in commands that are told; FILE where it is empty, standard input (-) or nothing that a terminal should show.
	FabricFile string
	// Partial is where nobody else measures: however little of the fabric the evidence crosses, what it crosses is judged.
	Partial bool
}

type sourceKey struct{ by, source string }

type flowKey struct {
	by   string
	flow evidence.Flow
	size int
}

// A flowLog is all that is known of one flow, in the order of time.
type flowLog struct {
	flowKey
	src, dst graphs.NodeID // None where the address is not the fabric's
	paths    []sighting
	echoes   []echo
	hops     []hop
	captured []captured
	method   string
	late     bool // something was added that is older than what was there
}

// A way is what is known of a path: nothing, the arcs, or several lists of arcs of which one is right.
type way struct{ alternatives [][]graphs.ArcID }

func (w way) known() bool   { return len(w.alternatives) > 0 }
func (w way) certain() bool { return len(w.alternatives) == 1 }

func (w way) equal(x way) bool { return slices.EqualFunc(w.alternatives, x.alternatives, slices.Equal) }

// shared returns old in place of a way that is the same.
func (w way) shared(old way) way {
	if w.equal(old) {
		return old
	}
	return w
}

func (w way) crosses(l graphs.LinkID) bool {
	return slices.ContainsFunc(w.alternatives, func(arcs []graphs.ArcID) bool { return crosses(arcs, l) })
}

// crosses reports whether a path crosses a link, either way.
func crosses(path []graphs.ArcID, l graphs.LinkID) bool {
	return slices.ContainsFunc(path, func(a graphs.ArcID) bool { return a.Link() == l })
}

// A sighting is a moment at which a flow's path was traced. If it had changed, the old path was last seen at previous.
type sighting struct {
	at, previous time.Time
	changed      bool
	path, back   way
}

type echo struct {
	epoch                       string
	start, end                  time.Time
	path, back                  way
	sent, lost                  int
	split                       bool
	lostForward, lostBack       int
	corruptForward, corruptBack int
	lostAt                      []int // ms after start
	rtt                         *evidence.Delay
	ahead                       *int  // by how much the clock of who answers is ahead, in ms; nil if not known
	whole                       *echo // as it was measured, where something was left out
}

type hop struct {
	at, start      time.Time
	ttl            int
	node           graphs.NodeID
	port           graphs.PortID // where the probe came in, as the address tells that answered; None where it tells none
	sent, answered int
}

// NewStore makes an empty store over a fabric.
func NewStore(f *graphs.Fabric, cfg Config) *Store {
	s := &Store{
		fabric: f, ecmp: pathfind.NewECMP(f), cfg: cfg,
		arcs:    make(map[string]graphs.ArcID, f.NumArcs()),
		flows:   map[flowKey]*tellers{},
		sources: map[sourceKey]*Source{},
		spans:   map[sourceKey]stretch{},
		skipped: map[string]int{},
		strange: map[string]int{},
		words:   said{},
	}
	for a := range graphs.ArcID(f.NumArcs()) {
		s.arcs[f.ArcName(a)] = a
	}
	s.takeModel()
	return s
}

// Records returns how many records the store took in.
func (s *Store) Records() int {
	n := 0
	for _, src := range s.sources {
		n += src.Records
	}
	return n
}

// Skip adds what a reader could not use, so that the diagnosis says so.
func (s *Store) Skip(n evidence.Skipped) {
	for why, count := range n {
		s.skipped[why] += count
	}
}

// Add takes in one record. Records may come in any order, as those of several files do.
func (s *Store) Add(r *evidence.Record) {
	r = s.setRight(r)
	s.see(r)
	s.chronicle.add(r)
	if r.Kind == evidence.KindNote && r.Text != "" {
		s.words.add(r.By, r.Text)
	}
	switch r.Kind {
	case evidence.KindFinding:
		// A capture's finding names flows, and no arcs yet: it is told in its words.
		s.words.add("", r.By+": "+r.Subject+": "+r.Text)
		return
	case evidence.KindFlow:
		s.addFlow(r)
		return
	case evidence.KindCounters, evidence.KindEvent, evidence.KindNeighbour:
		s.addPort(r)
		return
	case evidence.KindStrain:
		s.addStrain(r)
		return
	}
	if r.Flow == nil {
		return
	}
	l := s.log(r)
	path, why := s.wayOf(r.Path, r.Candidates, l.src, l.dst)
	back, whyBack := s.wayOf(r.Back, r.CandidatesBack, l.dst, l.src)
	if why = cmp.Or(why, whyBack); why != "" {
		s.skipped[why]++
		return
	}
	switch r.Kind {
	case evidence.KindEcho:
		l.addEcho(r, path, back)
	case evidence.KindPath:
		seen := sighting{at: r.Time, previous: r.Time, changed: r.Changed, path: path, back: back}
		if r.PreviousTime != nil {
			seen.previous = *r.PreviousTime
		}
		l.paths = filed(l.paths, seen, compareSightings, &l.late)
	case evidence.KindHop:
		h := hop{at: r.Time, start: r.Start(), ttl: r.TTL, node: s.nodeOf(r), sent: *r.Sent, answered: *r.Answered}
		h.port = s.portOfAddress(r, h.node)
		l.hops = filed(l.hops, h, compareHops, &l.late)
	}
}

func (s *Store) see(r *evidence.Record) {
	k := sourceKey{graphs.Clean(r.By), string(r.Source)}
	src, ok := s.sources[k]
	if !ok {
		src = &Source{By: k.by, Source: k.source}
		s.sources[k] = src
		s.keys = append(s.keys, k)
	}
	src.Records++
	src.Newest, s.to = later(r.Time, src.Newest), later(r.Time, s.to)
	s.from = soonest(s.from, r.Start())
	span := s.spans[k]
	span.from, span.to = soonest(span.from, r.Start()), later(span.to, r.Time)
	s.spans[k] = span
}

func (s *Store) nodeOf(r *evidence.Record) graphs.NodeID {
	if r.Node != "" {
		if n, ok := s.fabric.NodeByName(r.Node); ok {
			return n
		}
	}
	if r.Address != "" {
		s.strange[graphs.Clean(r.Address)]++
	}
	return graphs.None
}

// wayOf turns the names of a path between two nodes, or those of several of which one is right, into a way. It says why if it cannot be.
func (s *Store) wayOf(path []string, candidates [][]string, from, to graphs.NodeID) (w way, why string) {
	if len(path) > 0 {
		candidates = [][]string{path}
	}
	for _, names := range candidates {
		arcs, why := s.resolve(names)
		if why == "" && (from != graphs.None && s.fabric.Tail(arcs[0]) != from || to != graphs.None && s.fabric.Head(arcs[len(arcs)-1]) != to) {
			why = "paths that do not lead from one end of their flow to the other"
		}
		if why != "" {
			return way{}, why
		}
		w.alternatives = append(w.alternatives, arcs)
	}
	if len(candidates) > 1 { // named twice, a path is no likelier
		slices.SortFunc(w.alternatives, slices.Compare)
		w.alternatives = slices.CompactFunc(w.alternatives, slices.Equal)
	}
	return w, ""
}

const crossedTwice = "paths that cross an arc twice"

// resolve turns names of arcs into arcs. It refuses what no packet takes that arrives and says why.
func (s *Store) resolve(names []string) (arcs []graphs.ArcID, why string) {
	if len(names) == 0 {
		return nil, "paths without arcs"
	}
	if len(names) > s.fabric.NumArcs() {
		return nil, crossedTwice
	}
	arcs = make([]graphs.ArcID, len(names))
	for i, name := range names {
		a, ok := s.arcs[name]
		if !ok {
			return nil, "paths with arcs that the fabric does not have"
		}
		if i > 0 && s.fabric.Head(arcs[i-1]) != s.fabric.Tail(a) {
			return nil, "paths with arcs that do not meet"
		}
		if slices.Contains(arcs[:i], a) {
			return nil, crossedTwice
		}
		arcs[i] = a
	}
	return arcs, ""
}

// mostUntimed is how many losses of one record may be without a time for those that have one to say anything of when the others were.
const mostUntimed = 1 << 16

func (l *flowLog) addEcho(r *evidence.Record, path, back way) {
	if n := len(l.echoes); n > 0 { // a flow mostly stays where it is: its echoes share one path in memory
		path, back = path.shared(l.echoes[n-1].path), back.shared(l.echoes[n-1].back)
	}
	e := echo{
		epoch: graphs.Clean(r.Epoch), start: r.Start(), end: r.Time, path: path, back: back,
		sent: *r.Sent, lost: *r.Lost, lostAt: r.LostAtMS, rtt: r.RTT, ahead: r.AheadMS,
	}
	if e.lost == e.sent && e.lostAt == nil {
		e.lostAt = sendTimes(e.sent, r.WindowMS)
	}
	if e.lost-len(e.lostAt) > mostUntimed {
		e.lostAt = nil
	}
	if r.LostForward != nil && r.LostBack != nil {
		e.split, e.lostForward, e.lostBack = true, *r.LostForward, *r.LostBack
	}
	if r.CorruptForward != nil {
		e.corruptForward = *r.CorruptForward
	}
	if r.CorruptBack != nil {
		e.corruptBack = *r.CorruptBack
	}
	l.echoes = filed(l.echoes, e, compareEchoes, &l.late)
}

// sendTimes are the times at which the probes of a window were sent, evenly, in milliseconds after its start: where all were lost, these were lost then, whether
// the record says so or not. There are no more of them than records hold.
func sendTimes(sent, window int) []int {
	if window <= 0 {
		return nil
	}
	times := make([]int, min(sent, evidence.MaxLostAt))
	for i := range times {
		times[i] = i * window / sent
	}
	return times
}

// newestOf returns when a prober was last heard of, by its own clock.
func (s *Store) newestOf(by string) time.Time {
	if src := s.sources[sourceKey{graphs.Clean(by), string(evidence.SourceProbe)}]; src != nil {
		return src.Newest
	}
	return s.to
}

// prune drops what is older than the horizon, but keeps each flow's last sighting before it: the path is still the flow's.
func (s *Store) prune() {
	if s.cfg.Horizon == 0 {
		return
	}
	oldest := s.to.Add(-s.cfg.Horizon)
	if s.from.Before(oldest) {
		s.from = oldest
	}
	s.prunePorts(oldest)
	old := func(x strain) bool { return x.to.Before(oldest) }
	s.strains, s.refusals = slices.DeleteFunc(s.strains, old), slices.DeleteFunc(s.refusals, old)
	for _, l := range s.order {
		l.echoes = drop(l.echoes, func(e echo) bool { return e.end.Before(oldest) })
		l.hops = drop(l.hops, func(h hop) bool { return h.at.Before(oldest) })
		l.captured = drop(l.captured, func(c captured) bool { return c.at.Before(oldest) })
		for len(l.paths) > 1 && !l.paths[1].at.After(oldest) {
			l.paths = l.paths[1:]
		}
	}
}

func drop[T any](s []T, old func(T) bool) []T {
	i := 0
	for i < len(s) && old(s[i]) {
		i++
	}
	return s[i:]
}

// sourceList returns the sources by name.
func (s *Store) sourceList() []Source {
	list := make([]Source, 0, len(s.keys))
	for _, k := range s.keys {
		list = append(list, *s.sources[k])
	}
	slices.SortFunc(list, func(a, b Source) int { return cmp.Or(cmp.Compare(a.By, b.By), cmp.Compare(a.Source, b.Source)) })
	return list
}

// at returns the ways of a flow in a stretch of time: those of the record itself, unless the path was seen to change while
// packets were lost. Then either may have been the way of the lost ones, so both are given: evidence of two paths is never mixed.
// A storm may itself be what paths change for: what was lost in it before the flow was first traced may have gone any way.
//
// A flow that is probed goes on being counted on its old path until it is traced anew. Of what was sent meanwhile and answered it is not known either
// which way it went: to count it on a dead link, which it had left, would clear that link.
func (l *flowLog) at(e *echo, storm bool) (path, back way) {
	path, back = e.path, e.back
	first := sort.Search(len(l.paths), func(i int) bool { return l.paths[i].at.After(e.start) })
	for i := max(first, 1); i < len(l.paths); i++ {
		p, before := &l.paths[i], &l.paths[i-1]
		if !before.at.Before(e.end) {
			break
		}
		untraced := storm && e.lost > 0 && !before.path.known() && e.lostBetween(before.at, p.at)
		if untraced || p.changed && e.lostBetween(p.previous, p.at) {
			path, back = union(before.path, p.path), union(before.back, p.back)
		}
	}
	return path, back
}

// lossTimes returns when the lost probes of an echo were sent, in milliseconds after its start. A record lists only so many; the
// others, which were sent later, are taken to follow each other as the last of those did, within the window.
func (e *echo) lossTimes() []int {
	n := len(e.lostAt)
	if n == 0 || n >= e.lost {
		return e.lostAt
	}
	times := slices.Clone(e.lostAt)
	last, rest := times[n-1], max(0, int(e.end.Sub(e.start).Milliseconds())-times[n-1])
	if lately := min(n-1, 16); lately > 0 { // losses in a burst end with it, not with the window
		rest = min(rest, (e.lost-n+1)*(last-times[n-1-lately])/lately)
	}
	for i := range e.lost - n {
		times = append(times, last+rest*(i+1)/(e.lost-n+1))
	}
	return times
}

// lostBetween reports whether probes that were sent between two times may be among the lost; of an echo without loss, whether any were sent.
func (e *echo) lostBetween(from, to time.Time) bool {
	if !to.After(e.start) || !from.Before(e.end) {
		return false
	}
	if len(e.lostAt) == 0 {
		return true // the times are not known, or those of all count
	}
	return slices.ContainsFunc(e.lossTimes(), func(ms int) bool {
		at := e.start.Add(time.Duration(ms) * time.Millisecond)
		return !at.Before(from) && !at.After(to)
	})
}

func union(a, b way) way {
	if !a.known() || !b.known() {
		return way{}
	}
	out := slices.Clone(a.alternatives)
	for _, arcs := range b.alternatives {
		if !slices.ContainsFunc(out, func(o []graphs.ArcID) bool { return slices.Equal(o, arcs) }) {
			out = append(out, arcs)
		}
	}
	return way{out}
}

// now returns the last known ways of a flow.
func (l *flowLog) now() (path, back way) {
	if n := len(l.paths); n > 0 {
		return l.paths[n-1].path, l.paths[n-1].back
	}
	if n := len(l.echoes); n > 0 {
		return l.echoes[n-1].path, l.echoes[n-1].back
	}
	return way{}, way{}
}
