package diagnose

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"whichlink/graphs"
	"whichlink/pathfind/localize"
	"whichlink/pathfind/rhythm"
)

// leastListed is the probability below which a suspect is not worth a line.
const leastListed = 0.05

// lossesTold is how many packets an arc must be expected to lose for it to be named, alone or in its class, in 19 cases of 20.
const lossesTold = 10

// LeastProbes is how many probes must have met their fate before the silence of a fabric may be called health.
const LeastProbes = 200

// Diagnose says what the evidence in the store means now.
func (s *Store) Diagnose() *Diagnosis {
	s.lists, s.stormy, s.calm = nil, nil, calm{}
	s.restore()
	s.arrange()
	s.setClocks()
	s.prune()
	s.leave = s.leavings()
	s.anyLink = s.comesOverAny()
	s.leaveOut()
	s.leaveOutSilent()
	s.leaveOutUnmet()
	s.leaveOutBeyond()
	s.leaveOutOthers()
	s.refused = s.refusing()
	s.atOnce = s.together()
	d := &Diagnosis{Fabric: s.fabric.Name(), From: s.from, To: s.to, Sources: s.sourceList()}
	ports := s.hearPorts()
	gone := s.stateSuspects(d, ports, s.withdrawn())
	gone = s.straySuspects(d, s.miswireSuspects(d, ports.cabled, gone))
	for _, w := range s.groupSuspects(d, gone, ports) {
		d.Suspects = append(d.Suspects, s.downSuspect(w))
	}
	over, then, rest := s.over(ports)
	s.flapping = over
	seen, solved := s.solve(d, rest, then == nil, ports)
	d.Coverage = s.coverage()
	causes := s.lossSuspects(d, over, then, ports, gone, nil)
	maps.Copy(causes, s.lossSuspects(d, solved.Suspects, seen, ports, gone, nil))
	s.addBouts(d, causes, ports, gone)
	s.addUnmet(d, causes)
	s.shade(d, causes, seen, ports.counted)
	shadeByClass(s.fabric, d)
	seen.mute = s.mute(d, causes, seen)
	s.earlySuspects(d, solved, seen, ports)
	d.Suspects = append(d.Suspects, s.corruption()...)
	s.full = s.fullArcs(d, causes, ports.counted)
	s.addSlow(d)
	load := s.addHot(d, ports.counted)
	s.oneQueue(d, causes, ports.counted)
	load = append(load, s.addPauses(d)...)
	s.sentThere(d)
	s.addUnheard(d)
	odd := s.addSelective(d, seen, solved, then != nil)
	s.doubtBeyond(d, seen, solved.Background)
	s.tellSizes(d, seen)
	s.rank(d)
	s.tellShared(d)
	s.lightOf(d)
	s.doubtStrained(d)
	for i := range d.Suspects {
		d.Suspects[i].Rank = i + 1
	}
	d.Cleared = append(d.Cleared, s.cleared(solved, d.Suspects, seen)...)
	s.tellSuffering(d)
	s.conclude(d, seen, solved)
	if d.Verdict == Suspects {
		d.Notes = append(d.Notes, s.oddFlows(odd)...)
	}
	if then != nil && then.spells != nil {
		d.Notes = append(d.Notes, then.spellNote())
	}
	d.Notes = append(append(append(append(d.Notes, load...), s.slow().notes...), ports.notes(s, d, seen)...), s.lightNotes(d)...)
	return d
}

// over finds what comes and goes, or has ended, by what was measured while it was there. Rest is what was measured at other times, or all that tells of what goes on where there is
// nothing of the kind.
func (s *Store) over(ports *portWords) (suspects []localize.Suspect, then, rest *observer) {
	s.cut, s.stormy, s.fallen = nil, nil, fallen{}
	if short, ok := s.longSuffer(); ok { // when long packets were sent says nothing of what comes and goes
		return nil, nil, s.longer(short)
	}
	if doubtful := s.leaveOutCutOff(ports); !doubtful.IsZero() { // between a filter and a link that carries nothing any more
		return nil, nil, s.observe(nil, doubtful)
	}
	s.stormy = s.storms(nil)
	suspects, then, told := s.outages(s.stormy)
	var since time.Time
	bad, kind := s.failing()
	if kind == rhythm.Since {
		since = bad.from
	}
	if suspects != nil { // else they are not of the kind that a link makes which goes down
		if !since.IsZero() && 2*overlap(stretch{since, s.flowing.to}, told) > s.flowing.to.Sub(since) {
			since = time.Time{} // it is what is told
		}
		return suspects, then, s.observeBetween(told, since)
	}
	switch kind {
	case rhythm.Until, rhythm.Once:
		if suspects, then = s.past(bad, ports); suspects != nil {
			return suspects, then, s.observeThen([]stretch{bad}, false)
		}
	}
	return nil, nil, s.observe(nil, since)
}

// solver is what localization is told beside observations.
func (s *Store) solver(ports *portWords) localize.Config {
	return localize.Config{Meters: ports.meters, Hints: ports.hints, Independent: s.atOnce, Paths: s.askedSets()}
}

// solve localizes what packets were lost, of what was seen, and keeps what is asked about it later. Whole tells that this is all that tells of what goes on.
func (s *Store) solve(d *Diagnosis, seen *observer, whole bool, ports *portWords) (*observer, *localize.Result) {
	cfg := s.solver(ports)
	var solved *localize.Result
	solved, cfg.Together = s.solveBegun(seen, cfg)
	seen, solved, s.filtered = s.besideFilters(seen, solved, cfg)
	s.filtered = slices.Concat(s.cut, s.filtered)
	s.stops = nil
	if whole {
		solved.Suspects = s.halt(solved.Suspects, seen, cfg)
	}
	s.measured = seen.measured(solved.Exposure)
	if whole && seen.since.IsZero() {
		seen, solved = s.retry(d, seen, solved, cfg)
	}
	s.sparing(seen, solved, cfg)
	s.solved, s.presence, s.vision = solved, s.presentHosts(), s.look()
	return seen, solved
}

// lossSuspects tells what loses packets and is not told already, with its proof. Beside are causes that are told and stay as they are. It returns them with its own, by their names.
func (s *Store) lossSuspects(d *Diagnosis, suspects []localize.Suspect, seen *observer, ports *portWords, gone []withdrawal, beside map[string]localize.Cause) map[string]localize.Cause {
	causes := map[string]localize.Cause{}
	maps.Copy(causes, beside)
	for _, sus := range suspects {
		if sus.Probability < leastListed || s.explainedByDown(d, &sus, gone) || s.told(d, &sus, causes, seen, ports) {
			continue
		}
		sus = s.ratherLink(sus)
		heard := s.observed(sus.Cause, seen).hear(sus.Cause)
		heard.recount(&sus)
		out := s.lossSuspect(&sus, Loss, seen.looked())
		if seen.storms > 0 && out.Symptom == Loss && out.when == "" {
			out.then, out.when = true, " in some moments" // of which flows do not tell a rhythm
		}
		if l, ok := s.fabric.LinkByName(out.Link); ok && ports.behind[l] && (out.Symptom == Flap || out.Symptom == Down) {
			continue
		}
		if slices.ContainsFunc(d.Suspects, func(x Suspect) bool { return x.sameFlap(&out) }) {
			continue
		}
		s.corrupts(&out, &sus, heard, ports.counted)
		s.queues(&out, sus.Cause, ports.counted)
		s.prove(&out, sus.Cause, sus.Loss, heard, ports)
		s.doubtBusy(&out, &sus, seen, heard)
		if x, ok := s.stops[sus.Cause]; ok {
			x.tell(&out)
		}
		if s.spared[sus.Cause] {
			s.tellSpared(&out, sus.Cause, seen)
		}
		s.blameHost(&out, &sus)
		if !d.gain(out) {
			continue
		}
		causes[out.ID] = sus.Cause
	}
	return causes
}

// told reports whether a suspect is among those that are told already. What was told on weaker grounds gives way to it; else what packets say
// is put to what was told. Beside are the causes that the same inference tells, by their names: of those on one link each is another answer to what ails it,
// unless both are named, since answers that exclude each other cannot both be. What goes up and down does so both ways.
func (s *Store) told(d *Diagnosis, sus *localize.Suspect, beside map[string]localize.Cause, seen *observer, ports *portWords) bool {
	links := linksOf(s.fabric, sus.Cause)
	if sus.Kind != localize.Host && !slices.ContainsFunc(links, func(l graphs.LinkID) bool { return !ports.covered[l] }) {
		return true
	}
	elsewhere := func(x Suspect) bool { // by another inference, as of what was lost while it was down
		_, another := beside[x.ID]
		return !another && x.Symptom == Loss && x.Probability >= Named &&
			slices.ContainsFunc(sus.Class, func(c localize.Cause) bool { return x.Kind == string(c.Kind) && x.ID == s.name(c) })
	}
	var same func(x Suspect) bool
	switch sus.Kind {
	case localize.Node, localize.Group:
		same = func(x Suspect) bool {
			return x.Kind == string(sus.Kind) && x.ID == s.name(sus.Cause) && (x.Symptom == Down || x.Symptom == Flap) && x.Probability >= Named
		}
	case localize.Host: // if all its packets are lost, and it may as well be its link, it is this if ports say that the link is down
		same = func(x Suspect) bool {
			l, ok := s.fabric.LinkByName(x.Link)
			return ok && x.Symptom == Down && x.Probability >= Named && slices.Contains(sus.Class, localize.Cause{Kind: localize.Link, ID: int32(l)})
		}
	default:
		name := s.fabric.LinkName(links[0])
		same = func(x Suspect) bool {
			_, another := beside[x.ID]
			return x.Link == name && !(another && x.Symptom == Loss && sus.Probability >= Named)
		}
	}
	i := slices.IndexFunc(d.Suspects, func(x Suspect) bool { return same(x) || elsewhere(x) })
	if i < 0 {
		return false
	}
	x := &d.Suspects[i]
	if x.Probability < Named && sus.Probability > x.Probability {
		d.Suspects = slices.Delete(d.Suspects, i, i+1)
		return false
	}
	s.alsoLoses(x, sus, seen)
	return true
}

// sameFlap reports whether a suspect goes up and down as another one does that cannot be told from it, whenever that does.
func (x *Suspect) sameFlap(y *Suspect) bool {
	if x.Symptom != Flap || y.Symptom != Flap || x.Probability < Named || !slices.Equal(slices.Sorted(slices.Values(x.Class)), slices.Sorted(slices.Values(y.Class))) {
		return false
	}
	when := func(e Episode, verge time.Duration) stretch {
		return stretch{e.Start.Add(e.From - verge), e.Start.Add(e.To + verge)}
	}
	return !slices.ContainsFunc(y.Episodes, func(e Episode) bool {
		return !slices.ContainsFunc(x.Episodes, func(o Episode) bool { return when(e, 0).overlaps(when(o, stormBin)) })
	})
}

// corruption looks for what changes payloads, by the same reasoning that looks for loss.
func (s *Store) corruption() []Suspect {
	if !slices.ContainsFunc(s.order, func(l *flowLog) bool {
		return slices.ContainsFunc(l.echoes, func(e echo) bool { return e.corruptForward+e.corruptBack > 0 })
	}) {
		return nil
	}
	solved := s.localize(s.observeCorruption(), localize.Config{})
	var out []Suspect
	for i := range solved.Suspects {
		if solved.Suspects[i].Probability >= leastListed {
			out = append(out, s.lossSuspect(&solved.Suspects[i], Corruption, 0))
		}
	}
	return out
}

func (s *Store) coverage() Coverage {
	c := Coverage{Arcs: s.fabric.NumArcs()}
	var sent []int
	for a, was := range s.measured {
		if was {
			c.Measured++
			sent = append(sent, s.solved.Exposure[a])
		} else {
			c.Unmeasured = append(c.Unmeasured, s.fabric.ArcName(graphs.ArcID(a)))
		}
	}
	c.Detectable = Detectable(sent, s.solved.Least)
	return c
}

// totals counts all packets that were measured, those of probes that were lost, and those that captures tell to be.
func (s *Store) totals() (probes, lost, captured int) {
	for _, l := range s.order {
		sent, missing := l.sums()
		probes, lost = probes+sent, lost+missing
		for i := range l.captured {
			probes += l.captured[i].packets
			captured += l.captured[i].before + l.captured[i].after + l.captured[i].between
		}
	}
	return probes, lost, captured
}

// conclude writes the verdict, the summary and the notes.
func (s *Store) conclude(d *Diagnosis, seen *observer, solved *localize.Result) {
	probes, lost, captured := s.totals()
	lost += captured
	what := "probes"
	if slices.ContainsFunc(s.order, func(l *flowLog) bool { return len(l.captured) > 0 }) {
		what = "packets"
	}
	d.Notes = append(TailNote(solved), s.notes(seen)...)
	named := 0
	for i := range d.Suspects {
		if d.Suspects[i].Probability >= Named {
			named++
		}
	}
	d.Verdict = Inconclusive
	switch {
	case 2*s.skipped[elsewhere] > s.routed && s.routed > 0:
		d.Summary = fmt.Sprintf("the fabric file does not fit: %s of %s records of paths name arcs that it does not have", thousands(s.skipped[elsewhere]), thousands(s.routed))
		d.Notes = append(d.Notes, rightFile)
	case named > 0:
		d.Verdict = Suspects
		d.Summary = d.Suspects[0].Sentence()
		if named > 1 {
			d.Summary += fmt.Sprintf(", and %d more", named-1)
		}
	case s.suffers != nil && s.suffers.everywhere():
		d.Losing, d.Summary = true, s.suffers.summary()
	case seen.mute:
		d.Summary = "no probe was answered" + seen.sinceWords() + ": nothing listens, or the network loses all of them"
		d.Notes = append(d.Notes, "see that reflectors run and no filter drops probes: whichlink agent on the hosts, then whichlink ping between two of them")
	case probes < LeastProbes:
		d.Summary = TooFew(probes, lost, what)
		d.Notes = append(d.Notes, "measure for longer, or from more hosts: "+s.probeCommand()+" --for 10s")
	case len(d.Suspects) > 0 && d.Suspects[0].Probability >= Doubted:
		d.Summary = "perhaps " + d.Suspects[0].Sentence()
		d.Notes = append(append(d.Notes, d.Suspects[0].undecided()), s.fewFlows()...)
	case 2*seen.crowded.there > probes:
		d.Summary = fmt.Sprintf("nothing can be said of most %s, of which %d were lost: their paths are not known, and there are too many", what, lost)
		d.Notes = append(d.Notes, trace)
	case solved.Tail > 0:
		d.Losing, d.Summary = true, NothingStandsOut
	case s.beyond.ails(solved.Background):
		d.Losing = true
		d.Summary = fmt.Sprintf("%s of %s probes lost on flows that pass %s, which the fabric file does not have: nothing can be said of these", thousands(s.beyond.lost),
			thousands(s.beyond.sent), s.beyond.words())
		d.Notes = append(d.Notes, rightFile+", or add the link that it lacks")
	case len(s.unmet) == 0 && Unexplained(probes, lost, solved.Background), 1000*captured > probes:
		d.Losing, d.Summary = true, fmt.Sprintf("%d of %d %s lost, and no single suspect explains them yet", lost, probes, what)
		if few := s.fewFlows(); few != nil {
			d.Notes = append(d.Notes, few...)
		} else {
			d.Notes = append(d.Notes, "measure for longer: what is lost is not yet told apart")
		}
		if s.sparse(d) {
			d.Notes = append(d.Notes, fromMore)
		}
	case s.sparse(d):
		d.Summary = fmt.Sprintf("nothing found, but only %d of %d arcs were measured", d.Coverage.Measured, d.Coverage.Arcs)
		d.Notes = append(d.Notes, fromMore)
	case s.foreign.ails(solved):
		d.Summary = s.foreign.summary()
	case Everywhere(lost, solved.Background):
		d.Losing, d.Summary = true, NothingStandsOut
		d.Notes = append(d.Notes, EverywhereNote(solved))
	default:
		if d.Summary = s.misfit(); d.Summary != "" {
			d.Notes = append(d.Notes, rightFile)
			break
		}
		if len(s.unmet) > 0 {
			d.Summary = "nothing else found, but " + s.unmetWords()
			break
		}
		if now, gone := s.silentNow(); now != nil {
			d.Summary = fmt.Sprintf("%s %s lost, nearly all of them on no link: %s", thousands(lost+gone), what, s.silenceWords(now))
			d.Notes = append(d.Notes, now.next())
			break
		}
		d.Verdict = Healthy
		d.Summary = fmt.Sprintf("healthy: %s %s, %s, %d of %d arcs measured", thousands(probes), what, lossWords(lost, probes), d.Coverage.Measured, d.Coverage.Arcs) + s.slowLinks()
		d.Notes = append(d.Notes, d.Coverage.Unseen(solved.Least))
		if 10*d.Coverage.Measured < 9*d.Coverage.Arcs && !s.cfg.Partial {
			d.Notes = append(d.Notes, fromMore)
		}
	}
	if s.foreign.ails(solved) {
		d.Notes = append(d.Notes, s.foreign.note())
	}
	if s.suffers != nil {
		d.Notes = append(d.Notes, s.suffers.note())
		if d.Verdict == Inconclusive && !s.suffers.everywhere() {
			d.Summary = "only flows of " + s.suffers.words + " lose packets: " + d.Summary
		}
	}
}

// fromMore is what to do where much of the fabric was not measured.
const fromMore = "run whichlink probe on more hosts: an arc that no probe crosses is unknown, not healthy"

// sparse reports whether most of what is to be judged was not measured.
func (s *Store) sparse(d *Diagnosis) bool {
	return 2*d.Coverage.Measured < d.Coverage.Arcs && !(s.cfg.Partial && d.Coverage.Measured > 0)
}

// rightFile is what to do where the fabric file does not fit.
const rightFile = "give the fabric file with which this was measured"

// NothingStandsOut is the summary where many arcs lose packets, none of them more than the others make usual: see [TailNote] and [EverywhereNote].
const NothingStandsOut = "no link stands out, but many lose packets"

// TailNote tells that a fabric loses more than others do, on so many arcs that they do not count as faulty, or nothing.
func TailNote(solved *localize.Result) []string {
	if solved.Tail == 0 {
		return nil
	}
	return []string{fmt.Sprintf("some %d arcs lose up to %s, more than links should: so many that lose so much alike count as usual here, and only what loses more is told",
		solved.Tail, Percent(solved.Normal))}
}

// Everywhere reports whether arcs lose more in the mean than a good one may: none of them is faulty for that, and all is not well.
func Everywhere(lost int, background float64) bool {
	return lost >= 10 && background > localize.NormalLoss
}

// EverywhereNote tells how much all arcs lose.
func EverywhereNote(solved *localize.Result) string {
	return fmt.Sprintf("arcs lose %s in the mean, more than links should, and all about alike: only what loses %s or more is told; look at what all flows meet, as hosts that are too busy or a policy",
		Percent(solved.Background), Percent(solved.Least))
}

// undecided says what keeps a suspect from being named.
func (x *Suspect) undecided() string {
	if (x.Symptom == Down || x.Symptom == Miswire) && len(x.Doubts) > 0 {
		return "what ports say of the first suspect and what else is known of it contradict each other: look at the ports themselves"
	}
	return "measure for longer: whether the first suspect is faulty is not yet told apart from chance"
}

// TooFew says that so few packets, probes by their name, are no evidence of health, and what was lost of them none of a fault.
func TooFew(sent, lost int, what string) string {
	if sent == 1 {
		what = strings.TrimSuffix(what, "s")
	}
	text := fmt.Sprintf("too little evidence: %d %s", sent, what)
	if lost > 0 {
		text += fmt.Sprintf(", %d lost", lost)
	}
	return text + fmt.Sprintf(", at least %d are needed", LeastProbes)
}

// Unexplained reports whether more was lost than the background explains by far.
func Unexplained(probes, lost int, background float64) bool {
	return lost >= 10 && float64(lost) > 20*background*float64(probes)
}

func (s *Store) notes(seen *observer) []string {
	notes := slices.Concat(s.words.notes(), s.strainNotes(), s.silenceNotes(), s.unmetNote())
	for _, why := range slices.Sorted(maps.Keys(s.skipped)) {
		records := "records"
		if s.skipped[why] == 1 {
			records = "record"
		}
		notes = append(notes, fmt.Sprintf("%d %s left out: %s", s.skipped[why], records, why))
	}
	notes = append(notes, s.outsideNotes()...)
	if len(s.strange) > len(s.beyond.addresses) {
		notes = append(notes, fmt.Sprintf("unknown nodes answer: %s; their flows are used by the paths that the fabric file allows", firstOf(slices.Sorted(maps.Keys(s.strange)), 5)))
	}
	notes = append(notes, s.beyond.note()...)
	if !seen.since.IsZero() {
		notes = append(notes, fmt.Sprintf("losses began while this was measured: what was measured before %s is left out", s.dial().write(seen.since, "15:04:05.0Z")))
	}
	if seen.spells != nil {
		notes = append(notes, seen.spellNote())
	}
	if n := seen.unplanned; n.sent > 0 {
		notes = append(notes, fmt.Sprintf("%s packets left out, of which %s were lost: cables seem not to be where the plan has them, so that it is not known where these went", thousands(n.sent), thousands(n.lost)))
	}
	if n := seen.dropped - seen.crowded.sent; n > 0 {
		notes = append(notes, fmt.Sprintf("%s packets left out: no path is known for them", thousands(n)))
	}
	if seen.crowded.sent > 0 {
		notes = append(notes, seen.crowded.note(s))
	}
	stateless := 0
	for _, l := range s.order {
		if slices.ContainsFunc(l.echoes, func(e echo) bool { return !e.split && e.lost > 0 && e.lost < e.sent }) {
			stateless++
		}
	}
	if stateless > 0 {
		notes = append(notes, flowsWord(stateless)+" could not tell loss on the way there from loss on the way back")
	}
	return slices.Concat(notes, s.clockNotes(), s.unusedNotes(), s.gapNotes())
}
