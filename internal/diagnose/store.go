package diagnose

import (
	"cmp"
	"slices"
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
	// deadly is deadlyArcs, worked out once for a diagnosis when first asked for, which several may at a time.
	deadly func() (arcs map[graphs.ArcID]bool, changes bool)

	solved   *localize.Result        // of the newest diagnosis
	filtered []weighedPair           // the pairs that do not hear each other, in the newest diagnosis
	cut      []weighedPair           // those of them that were heard before, where that is sure
	flapping []localize.Suspect      // the outages of the newest diagnosis
	fallen   fallen                  // when those were down, as far as flows tell, in the newest diagnosis
	atOnce   bool                    // flows lose their runs of packets at the same moments, as that diagnosis has it
	measured []bool                  // by arc, as that diagnosis has it
	lists    *observer               // of what the forwarding model allows, for that diagnosis; nil until asked for
	leave    leaving                 // how packets leave hosts of several links, for that diagnosis
	arrivals arrivals                // how they come to these, as all records tell
	stormy   []stretch               // the storms of that diagnosis
	calm     calm                    // what lies between them
	anyLink  bool                    // they come over any of their links, for that diagnosis, and not over the one of the address that they are sent to
	chooser  *next.Planner           // of flows that would tell more; nil until asked for
	presence *presence               // of hosts, as that diagnosis has it
	suffers  *suffering              // what all flows that lose packets have in common, as that diagnosis has it; nil where nothing
	stops    map[localize.Cause]stop // which suspects of that diagnosis may have stopped
	vision   *vision                 // of traces, as that diagnosis has it
	// misplaced are cables that traces find elsewhere than planned, nextTo planned ones between switches that have such a cable between them.
	misplaced, nextTo map[graphs.LinkID]bool
	rewired           *rewired                // where these lead
	spared            map[localize.Cause]bool // suspects of that diagnosis from which only packets of captures suffer

	arcs      map[string]graphs.ArcID
	flows     map[flowKey]*tellers // by what switches hash of them
	retold    []*tellers           // those of which more than one tells
	order     []*flowLog           // in the order of their keys when there is a diagnosis, so that answers depend neither on a map nor on what was read first
	mixed     bool                 // it is not in that order
	sources   map[sourceKey]*Source
	keys      []sourceKey
	skipped   map[string]int         // records that could not be used, by reason
	foreign   foreign                // those of them that tell of arcs which the fabric does not have
	strange   map[string]int         // addresses that answered and are not in the fabric
	strangers strangers              // where they did
	beyond    beyond                 // what was lost by flows that met some of them
	answering map[graphs.NodeID]bool // switches that answered from addresses of theirs
	routed    int                    // records of probes that told a path
	words     said                   // what sources had to say in words
	// pauseStorms are what captures prove of who sends pause frames without break, in words.
	pauseStorms map[graphs.NodeID][]string
	strains     []strain // when hosts were too busy for probes
	// refusals are when hosts dropped what they were to send, refused what that was in the newest diagnosis, by host.
	refusals []strain
	refused  map[graphs.NodeID]*refusal
	// strained is what was left out for that in the newest diagnosis, silences for hosts whose agents or filters kept silent.
	strained strained
	silences []silentTime
	// met are the hosts, by node, that were ever heard of; unmet those that are suspected of nothing for that they never were.
	met   []bool
	unmet []graphs.NodeID

	ports   portRecords              // what switches and hosts said of their ports
	spelled map[string]graphs.NodeID // nodes by the canonical form of their names, made when first asked

	from, to time.Time
	// flowing is from when until when flows were measured. Ports may be read for a day before that and long after: whatever is asked of losses in time is asked of this.
	flowing  stretch
	spans    map[sourceKey]sourceSpan
	fast     map[string]time.Duration // by how much clocks of probers are ahead, which is taken off their times
	slowness *slowness                // as last looked at
	full     []graphs.ArcID           // arcs whose queues may be full, since they lose packets
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

// NewStore makes an empty store over a fabric.
func NewStore(f *graphs.Fabric, cfg Config) *Store {
	s := &Store{
		fabric: f, ecmp: pathfind.NewECMP(f), cfg: cfg,
		arcs:      make(map[string]graphs.ArcID, f.NumArcs()),
		flows:     map[flowKey]*tellers{},
		sources:   map[sourceKey]*Source{},
		spans:     map[sourceKey]sourceSpan{},
		skipped:   map[string]int{},
		strange:   map[string]int{},
		strangers: strangers{},
		answering: map[graphs.NodeID]bool{},
		met:       make([]bool, f.NumNodes()),
		words:     said{},

		pauseStorms: map[graphs.NodeID][]string{},
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
		// Other findings of captures name flows, and no arcs yet: they are told in their words.
		if !s.addPauseStorm(r) {
			s.words.add("", r.By+": "+r.Subject+": "+r.Text)
		}
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
	if len(r.Path)+len(r.Candidates)+len(r.Back)+len(r.CandidatesBack) > 0 {
		s.routed++
	}
	l := s.log(r)
	path, why := s.wayOf(r.Path, r.Candidates, l.src, l.dst)
	back, whyBack := s.wayOf(r.Back, r.CandidatesBack, l.dst, l.src)
	if why = cmp.Or(why, whyBack); why != "" {
		s.skipped[why]++
		if why == elsewhere {
			s.foreign.add(s, r)
		}
		return
	}
	s.arrivals.add(path, l.intoDst)
	s.arrivals.add(back, l.intoSrc)
	switch r.Kind {
	case evidence.KindEcho:
		s.addEcho(l, r, path, back)
	case evidence.KindPath:
		seen := sighting{at: r.Time, previous: r.Time, changed: r.Changed, path: path, back: back}
		if r.PreviousTime != nil {
			seen.previous = *r.PreviousTime
		}
		l.paths = filed(l.paths, seen, compareSightings, &l.late)
	case evidence.KindHop:
		h := hop{at: r.Time, start: r.Start(), ttl: r.TTL, node: s.nodeOf(r), sent: *r.Sent, answered: *r.Answered}
		h.port = s.portOfAddress(r, h.node)
		if h.node == graphs.None {
			s.strangers.meet(afar{l.src, r.TTL, r.Flow.Src.Is6()}, r)
		} else if h.answered > 0 {
			s.answering[h.node] = true
		}
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
	if r.Source == evidence.SourceProbe && r.Kind == evidence.KindEcho || r.Source == evidence.SourcePcap {
		span.flowsTo = later(span.flowsTo, r.Time)
	}
	s.spans[k] = span
	s.flowed(span)
}

// A sourceSpan is from when until when a source told anything, and until when it measured flows; zero where it did not. What switches answered is told when all packets have met their fate: until
// then nothing is sent, and that nothing is lost says nothing.
type sourceSpan struct {
	stretch
	flowsTo time.Time
}

// flowed adds the span of a source to the time in which flows were measured, if that tells of flows.
func (s *Store) flowed(span sourceSpan) {
	if !span.flowsTo.IsZero() {
		s.flowing = stretch{soonest(s.flowing.from, span.from), later(s.flowing.to, span.flowsTo)}
	}
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

// Why records are left out.
const (
	crossedTwice = "paths that cross an arc twice"
	elsewhere    = "paths with arcs that the fabric does not have"
)

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
			return nil, elsewhere
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

// newestOf returns when a prober was last heard of, by its own clock.
func (s *Store) newestOf(by string) time.Time {
	if src := s.sources[sourceKey{graphs.Clean(by), string(evidence.SourceProbe)}]; src != nil {
		return src.Newest
	}
	return s.to
}

// prune drops what is older than the horizon, but keeps the last sighting before it of each flow of which anything is newer: the path is still the flow's.
func (s *Store) prune() {
	if s.cfg.Horizon == 0 {
		return
	}
	oldest := s.to.Add(-s.cfg.Horizon)
	if s.from.Before(oldest) {
		s.from = oldest
	}
	if s.flowing.from.Before(oldest) && !s.flowing.to.IsZero() {
		s.flowing = stretch{oldest, later(s.flowing.to, oldest)}
	}
	s.prunePorts(oldest)
	if s.foreign.last.Before(oldest) {
		s.foreign = foreign{}
	}
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
	s.order = slices.DeleteFunc(s.order, func(l *flowLog) bool {
		if len(l.echoes)+len(l.hops)+len(l.captured) > 0 || len(l.paths) > 0 && !l.paths[0].at.Before(oldest) {
			return false
		}
		s.forget(l)
		return true
	})
	s.retold = slices.DeleteFunc(s.retold, func(t *tellers) bool { return t.others == nil })
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
