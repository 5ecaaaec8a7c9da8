package diagnose

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"whichlink/graphs"
	"whichlink/pathfind/delay"
	"whichlink/pathfind/rhythm"
)

const (
	// leastSlow is for how long something must have been slow, all in all, to be told of when it is over; of a host that is for how long without a break, since it is busy now and
	// then.
	leastSlow, leastSlowHost = 3 * time.Second, lately
	// lateSlot is the resolution at which it is looked for when something was slow, and lateSlots how many slots there are at most.
	lateSlot  = time.Second
	lateSlots = 3600
	// longestWindow is the length of a window above which it says too little of when anything was slow.
	longestWindow = time.Minute
	// lateApart is the least time between two episodes in which something was slow.
	lateApart = time.Second
	// oddWindow is the share of windows that are late for a reason of their own.
	oddWindow = 0.05
	// mostTimes is how many times at which something was slow are looked into.
	mostTimes = 8
)

// wasSlow looks for what added delay at other times than now. Where most flows that cross an arc are late together, those times are held against the others,
// as now is. Only what is named is told. Of what is told of now it is told when it began, and, where it came and went, when it was there.
func (s *Store) wasSlow(flows *delayedFlows, now []Suspect) (list []Suspect) {
	flows.markLate()
	s.leaveBusy(flows)
	slots := float64(slotsOf(s.flowing.from, s.flowing.to))
	for range mostTimes {
		a, late := s.latest(flows)
		if a == graphs.None {
			late = flows.lateTogether(s.flowing.from, s.flowing.to)
		}
		if len(late) == 0 {
			break
		}
		r := lateRhythm(late, s.flowing.from)
		times := s.stretches(r.Episodes)
		for _, x := range late {
			x.explain(times)
		}
		if len(times) == 0 {
			continue
		}
		if s.goesOn(&r) {
			if a == graphs.None {
				continue
			}
			if i := s.slowAt(a, now); i >= 0 {
				now[i].tellSince(&r, s.flowing.from, s.dial())
			}
			continue
		}
		v := flows.then(times)
		for _, x := range s.solveDelays(v.obs, slots*slots/2) {
			id := s.delayName(x.Cause)
			told := func(y Suspect) bool { return y.Probability >= Named && slices.Contains(y.Class, id) }
			if x.Probability < Named || a == graphs.None && s.onHost(x.Cause) && !inARow(times, leastSlowHost) {
				continue
			}
			flows.explain(x.Cause, s.fabric, times)
			i := slices.IndexFunc(now, told)
			if slices.ContainsFunc(list, told) || i >= 0 && (len(r.Episodes) == 1 || len(now[i].DSCPs) > 0) {
				continue
			}
			out := s.slowSuspect(&x, v)
			s.tellOver(&out, &x, &r)
			if i >= 0 {
				now[i] = out
			} else {
				list = append(list, out)
			}
		}
	}
	return list
}

// leaveBusy takes for explained what is late for a moment at a host.
func (s *Store) leaveBusy(flows *delayedFlows) {
	busy := map[graphs.ArcID][]stretch{}
	for i, x := range flows.lateOn(s.flowing.from, s.flowing.to, s.fabric.NumArcs()) {
		if a := graphs.ArcID(i); s.fabric.IsHostArc(a) && len(x.times) > 0 && !inARow(x.times, leastSlowHost) {
			busy[a] = x.times
		}
	}
	for i := range flows.list {
		x := &flows.list[i]
		for _, a := range x.path {
			if times := busy[a]; times != nil {
				x.explain(times)
			}
		}
	}
}

// latest returns the arc on which most windows were late, if that was for long enough, and the flows that are known to cross it; else None.
func (s *Store) latest(flows *delayedFlows) (best graphs.ArcID, late []*delayedFlow) {
	most := 0
	best = graphs.None
	for i, x := range flows.lateOn(s.flowing.from, s.flowing.to, s.fabric.NumArcs()) {
		a := graphs.ArcID(i)
		enough := x.inAll() >= leastSlow && (!s.fabric.IsHostArc(a) || inARow(x.times, leastSlowHost))
		if enough && x.windows > most {
			best, most = a, x.windows
		}
	}
	for i := range flows.list {
		if x := &flows.list[i]; slices.Contains(x.path, best) {
			late = append(late, x)
		}
	}
	return best, late
}

// leastTogether is of how many flows of unknown ways it takes the same times to be one cause's.
const leastTogether = 3

// lateTogether returns flows of unknown ways that were late at the same times, as those are that cross one slow part, about the one that was late for longest; none where that was not for long enough.
func (d *delayedFlows) lateTogether(from, to time.Time) (list []*delayedFlow) {
	slots, long := d.slots(from, to)
	late := map[*delayedFlow][]int{}
	for k, slot := range slots {
		for _, x := range slot {
			if ks := late[x.delayedFlow]; x.late && x.path == nil && (len(ks) == 0 || ks[len(ks)-1] != k) {
				late[x.delayedFlow] = append(ks, k)
			}
		}
	}
	var longest []int
	for i := range d.list {
		if ks := late[&d.list[i]]; len(ks) > len(longest) {
			longest = ks
		}
	}
	if time.Duration(len(longest))*long < leastSlow {
		return nil
	}
	for i := range d.list {
		ks := late[&d.list[i]]
		common := 0
		for _, k := range ks {
			if _, ok := slices.BinarySearch(longest, k); ok {
				common++
			}
		}
		if 3*common >= 2*max(len(longest), len(ks)) {
			list = append(list, &d.list[i])
		}
	}
	if len(list) < leastTogether {
		return nil
	}
	return list
}

// onHost reports whether a cause is a host or an arc of one.
func (s *Store) onHost(c delay.Cause) bool {
	return c.Kind == delay.Host || c.Kind == delay.Arc && s.fabric.IsHostArc(graphs.ArcID(c.ID))
}

// slowAt returns which of some suspects is named for adding delay to what crosses an arc, -1 if none is.
func (s *Store) slowAt(a graphs.ArcID, now []Suspect) int {
	at := []string{s.fabric.ArcName(a), s.fabric.LinkName(a.Link()), s.fabric.NodeName(s.fabric.Tail(a)), s.fabric.NodeName(s.fabric.Head(a))}
	return slices.IndexFunc(now, func(x Suspect) bool {
		return x.Probability >= Named && slices.ContainsFunc(x.Class, func(id string) bool { return slices.Contains(at, id) })
	})
}

// goesOn reports whether something is slow from some moment on, and was so still when flows crossed it last: what is now looks into that.
func (s *Store) goesOn(r *rhythm.Rhythm) bool {
	return r.Kind == rhythm.Since && !s.left(r)
}

// left reports whether no flow crosses something any more.
func (s *Store) left(r *rhythm.Rhythm) bool {
	return s.flowing.to.Sub(s.flowing.from.Add(duration(r.To))) > lately
}

// markLate tells which windows of flows are late, beside what each takes mostly, first or last, whichever is least: what is over may have been slow for most of the time. How far
// healthy ones lie apart is told by all of them.
func (d *delayedFlows) markLate() {
	var over []float64
	usual := make([]float64, len(d.list))
	for i := range d.list {
		usual[i] = d.list[i].usual()
		for _, w := range d.list[i].windows {
			over = append(over, w.rtt.P50-usual[i])
		}
	}
	slices.Sort(over)
	n := len(over)
	if n == 0 {
		return
	}
	least := max(float64(leastExcess), overSpread*(over[3*n/4]-over[n/4])/1.349)
	for i := range d.list {
		for j := range d.list[i].windows {
			w := &d.list[i].windows[j]
			w.late = w.rtt.P50-usual[i] > least && w.still <= d.still
		}
	}
}

// usual is what a flow takes if nothing is slow.
func (x *delayedFlow) usual() float64 {
	begun, ended := x.windows[0].start, x.windows[len(x.windows)-1].end
	var all, first, last []*echo
	for _, w := range x.windows {
		all = append(all, w.echo)
		if w.start.Before(begun.Add(lately)) {
			first = append(first, w.echo)
		}
		if w.end.After(ended.Add(-lately)) {
			last = append(last, w.echo)
		}
	}
	least := delay.Microseconds(math.Inf(1))
	for _, some := range [][]*echo{all, first, last} {
		took, _ := typical(some, false)
		least = min(least, took)
	}
	return float64(least)
}

// slotsOf returns in how many slots it is looked for what was slow.
func slotsOf(from, to time.Time) int { return min(max(int(to.Sub(from)/lateSlot), 1), lateSlots) }

// A lateness is how many windows of flows that cross an arc were late while most that crossed it were, and when that was.
type lateness struct {
	windows int
	times   []stretch
}

// inAll is for how long it was late.
func (x *lateness) inAll() (sum time.Duration) {
	for _, t := range x.times {
		sum += t.to.Sub(t.from)
	}
	return sum
}

// inARow reports whether something was for so long without a break.
func inARow(times []stretch, d time.Duration) bool {
	return slices.ContainsFunc(times, func(t stretch) bool { return t.to.Sub(t.from) >= d })
}

// add takes in that so many windows were late in a slot of time.
func (x *lateness) add(windows int, slot stretch) {
	x.windows += windows
	if n := len(x.times); n > 0 && x.times[n-1].to.Equal(slot.from) {
		x.times[n-1].to = slot.to
		return
	}
	x.times = append(x.times, slot)
}

// lateOn tells of each arc how late it was.
func (d *delayedFlows) lateOn(from, to time.Time, arcs int) []lateness {
	out, all, late := make([]lateness, arcs), make([]int, arcs), make([]int, arcs)
	slots, long := d.slots(from, to)
	for k, list := range slots {
		var met []graphs.ArcID
		for _, x := range list {
			for _, a := range x.path {
				if all[a]++; x.late {
					if late[a]++; late[a] == 1 {
						met = append(met, a)
					}
				}
			}
		}
		slot := stretch{from.Add(time.Duration(k) * long), from.Add(time.Duration(k+1) * long)}
		for _, a := range met {
			if n := late[a]; n >= 2 && 3*n >= 2*all[a] {
				out[a].add(n, slot)
			}
		}
		for _, x := range list {
			for _, a := range x.path {
				all[a], late[a] = 0, 0
			}
		}
	}
	return out
}

// A slotted window is one of a flow in a slot of time.
type slotted struct {
	*delayedFlow
	late bool
}

// slots returns the windows from one time to another by slots, those in which none was late being empty, and how long a slot is.
func (d *delayedFlows) slots(from, to time.Time) ([][]slotted, time.Duration) {
	n := slotsOf(from, to)
	long := max(lateSlot, to.Sub(from)/time.Duration(n))
	at := func(t time.Time) int { return min(max(int(t.Sub(from)/long), 0), n-1) }
	each := func(visit func(x *delayedFlow, w *delayedWindow, slot int)) {
		for i := range d.list {
			for j := range d.list[i].windows {
				w := &d.list[i].windows[j]
				if w.explained || w.length() > longestWindow {
					continue
				}
				first := at(w.start.Add(long / 2)) // of the slots of which it holds the middle
				for k := first; k <= max(first, at(w.end.Add(-long/2))); k++ {
					visit(&d.list[i], w, k)
				}
			}
		}
	}
	slots, late := make([][]slotted, n), make([]bool, n)
	each(func(_ *delayedFlow, w *delayedWindow, k int) { late[k] = late[k] || w.late })
	if slices.Contains(late, true) {
		each(func(x *delayedFlow, w *delayedWindow, k int) {
			if late[k] {
				slots[k] = append(slots[k], slotted{x, w.late})
			}
		})
	}
	return slots, long
}

// crosses reports whether a flow surely crosses a cause.
func (x *delayedFlow) crosses(c delay.Cause, f *graphs.Fabric) bool {
	n := graphs.NodeID(c.ID)
	switch c.Kind {
	case delay.Arc:
		return slices.Contains(x.path, graphs.ArcID(c.ID))
	case delay.Link, delay.Group:
		links := linksOf(f, lossCause(c))
		return slices.ContainsFunc(x.path, func(a graphs.ArcID) bool { return slices.Contains(links, a.Link()) })
	case delay.Host:
		return x.obs.Src == n || x.obs.Dst == n
	}
	return slices.ContainsFunc(x.path, func(a graphs.ArcID) bool { return f.Tail(a) == n })
}

// explain takes for granted that flows which cross a cause are late in some times, or at all times if there are none: that tells nothing of another cause.
func (d *delayedFlows) explain(c delay.Cause, f *graphs.Fabric, times []stretch) {
	for i := range d.list {
		if d.list[i].crosses(c, f) {
			d.list[i].explain(times)
		}
	}
}

func (x *delayedFlow) explain(times []stretch) {
	for j := range x.windows {
		w := &x.windows[j]
		w.explained = w.explained || w.late && (len(times) == 0 || w.in(times))
	}
}

// in reports whether the middle of a window is in some times.
func (w *delayedWindow) in(times []stretch) bool { return during(times, w.end.Add(-w.length()/2)) }

// lateRhythm finds when some flows were late, counted from some moment.
func lateRhythm(flows []*delayedFlow, from time.Time) rhythm.Rhythm {
	var counts []rhythm.Count
	for _, x := range flows {
		for _, w := range x.windows {
			if w.explained {
				continue
			}
			c := rhythm.Count{From: milliseconds(w.start.Sub(from)), To: milliseconds(w.end.Sub(from)), Sent: 1, Outlier: oddWindow}
			if w.late {
				c.Lost = 1
			}
			counts = append(counts, c)
		}
	}
	return rhythm.Find(counts, milliseconds(lateApart))
}

// then returns what flows took at some times, beside what they took at others.
func (d *delayedFlows) then(times []stretch) view {
	v := view{own: true}
	for i := range d.list {
		x := d.list[i]
		x.windows = slices.Clone(x.windows)
		for j := range x.windows {
			x.windows[j].isNew = x.windows[j].in(times)
		}
		v.add(&x, 1)
	}
	return v
}

// tellSince says when what adds delay now began to.
func (x *Suspect) tellSince(r *rhythm.Rhythm, start time.Time, d dial) {
	x.dial, x.Duty = d, r.Duty
	began := r.Episodes[0]
	x.Episodes = []Episode{{start, duration(began.From), duration(began.To)}}
	since := d.clock(start.Add(duration(began.From)))
	x.when += " since " + since
	x.For += "; that began at " + since
	x.Evidence[0].Text = x.For
}

// tellOver says when a suspect was slow that is so no more. Where it comes and goes and the evidence ends while it is there, nobody knows whether it is over.
func (s *Store) tellOver(out *Suspect, x *delay.Suspect, r *rhythm.Rhythm) {
	out.dial, out.Duty = s.dial(), r.Duty
	for _, e := range r.Episodes {
		out.Episodes = append(out.Episodes, Episode{s.flowing.from, duration(e.From), duration(e.To)})
	}
	last := &r.Episodes[len(r.Episodes)-1]
	until := s.flowing.from.Add(duration(last.To)).UTC()
	out.when = out.between()
	if r.Period > 0 {
		out.PeriodMS = int(r.Period + 0.5)
		out.when += ", one every " + Micros(1e3*r.Period)
	}
	const slower = "were slower than at other times, as only 5 in 100 flows should be"
	if x.Flows == 0 {
		out.For = unsureFlows(x, slower) + ":" + out.when
	} else {
		out.For = fmt.Sprintf("%d of %d flows that cross it %s (their probes took %s more, all flows' %s more):%s",
			x.Late, x.Flows, slower, Micros(float64(x.Took)), Micros(float64(x.Expected)), out.when)
	}
	out.Evidence[0].Text = out.For
	now := "it adds nothing any more; "
	switch {
	case s.left(r):
		now = "no flow crosses it any more; "
	case last.Lasting:
		return
	}
	out.Until = &until
	out.Against = now + strings.NewReplacer("flow crosses", "flow crossed", "flows cross", "flows crossed", "in time", "in time then").Replace(out.Against)
	out.Next = []Step{{Why: "it is over: see whether it comes back, from many hosts", Do: s.probeFor(60)}}
	if x.Kind == delay.Arc {
		port := s.fabric.PortName(s.fabric.TailPort(graphs.ArcID(x.ID)))
		out.Next = append(out.Next, Step{Why: tellQueue, Do: fmt.Sprintf("look up the queue and the output rate of %s as they were then", port)})
	}
}

// delays says what a suspect adds, or added and when.
func (x *Suspect) delays() string {
	verb := "adds"
	if x.Until != nil {
		verb = "added"
	}
	return fmt.Sprintf("%s %s of delay%s", verb, Micros(*x.Delay), x.when)
}
