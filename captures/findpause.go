package captures

import (
	"fmt"
	"math"

	"whichlink/captures/frames"
)

const (
	// StormTime is how long a class must be paused without break to be a storm, as SONiC's watchdog has it.
	StormTime = 200_000_000
	// slowestPFC is the slowest link that runs priority flow control. Where no speed is known it bounds what a frame pauses.
	slowestPFC = 10_000_000_000
	quantum    = 512 // bit times
)

// A pauser is a sender of pause frames and a class; class 8 is the whole link's.
type pauser struct {
	mac   [6]byte
	class uint8
}

// A pause sums up how a class was paused by one sender.
type pause struct {
	pauser
	frames, resumes         int64
	first, last             int64
	since, until            int64 // of the stretch that is running
	endSince, ended         int64 // of the stretch before it
	total, longest, longAt  int64
	storms                  int
	stormFirst, stormLastTo int64
}

// A pauseFinder adds up paused time by class and sender.
type pauseFinder struct {
	a      *Analyzer
	frames int64
	pauses roll[pauser, pause]
	// guessed says that the speed of a link was not known.
	guessed bool
	held    heldUp
}

func newPauseFinder(a *Analyzer) finder {
	a.pauses = &pauseFinder{a: a, pauses: roll[pauser, pause]{most: maxTold}, held: newHeldUp()}
	return a.pauses
}

// speed returns the speed of the link that a pause frame was captured on.
func (f *pauseFinder) speed(s *Sight) uint64 {
	switch {
	case f.a.cfg.LinkSpeed > 0:
		return f.a.cfg.LinkSpeed
	case s.Speed > 0:
		return s.Speed
	}
	f.guessed = true
	return slowestPFC
}

func (f *pauseFinder) see(s *Sight) {
	if s.Frame.Kind != frames.MACControl {
		f.victim(s)
		return
	}
	f.frames++
	p := &s.Frame.Pause
	src := s.Frame.SrcMAC()
	if src == nil {
		return
	}
	for class := range uint8(8) {
		if p.Classes>>class&1 == 0 {
			continue
		}
		who := pauser{[6]byte(src), class}
		if p.Opcode == frames.PauseLink {
			who.class = linkClass
		}
		x, fresh := f.pauses.of(who)
		if x == nil {
			continue
		}
		if fresh {
			x.pauser, x.first = who, s.Time
			_, from := macSlots((*[12]byte)(s.Frame.Data[s.Frame.MAC:]))
			f.held.senders[from] = true
			f.held.met++
		}
		x.take(s.Time, p.Quanta[class], f.speed(s))
		since, end := x.stretch()
		f.held.until = max(f.held.until, end+min(end-since, math.MaxInt64-max(end, 0)))
	}
}

// take adds a frame: it pauses for its quanta from now on, whatever the one before said.
func (p *pause) take(now int64, quanta uint16, speed uint64) {
	p.frames++
	p.last = now
	if p.since != 0 && now > p.until {
		p.end(p.until)
	}
	if quanta == 0 {
		p.resumes++
		if p.since != 0 {
			p.end(now)
		}
		return
	}
	if p.since == 0 {
		p.since = now
	}
	p.until = now + int64(float64(quanta)*quantum*1e9/float64(speed))
}

// end closes the stretch that is running.
func (p *pause) end(at int64) {
	d := max(0, at-p.since)
	p.total += d
	if d > p.longest {
		p.longest, p.longAt = d, p.since
	}
	if d > StormTime {
		if p.storms == 0 {
			p.stormFirst = p.since
		}
		p.storms++
		p.stormLastTo = at
	}
	p.endSince, p.ended = p.since, at
	p.since = 0
}

func (f *pauseFinder) report(r *Report) {
	r.PFC.Frames = f.frames
	atMost := ""
	if f.guessed {
		atMost = ", at most: the link's speed is not known and taken for 10 Gbit/s, the slowest; --speed tells it"
	}
	f.reportHeld(r)
	span := max(1, f.a.last-f.a.first)
	calm := ranking{most: f.a.cfg.MaxFindings}
	for i := range f.pauses.all {
		p := &f.pauses.all[i]
		if p.since != 0 {
			// A pause that outlasts the capture is counted to its end.
			p.end(min(p.until, max(f.a.last, p.since)))
		}
		if p.storms == 0 {
			calm.add(candidate{p.frames, p.first, p.last, uint32(i), 0})
			continue
		}
		r.PFC.Storms += p.storms
		address := ""
		if host, ok := f.hostOf(p.mac); ok {
			address = host.Netip().String()
		}
		r.Findings = append(r.Findings, Finding{
			Finding: "pfc-storm", Severity: Critical, Subject: p.name(), Address: address, about: chooseMAC(p.mac[:]), Count: int64(p.storms), From: instant(p.stormFirst), To: instant(p.stormLastTo),
			Text: fmt.Sprintf("%s without break for up to %s, %.3g %% of the capture, by %s%s", p.paused(), duration(p.longest),
				100*float64(p.total)/float64(span), plural(p.frames, "frame"), atMost),
			Rule:   "pause frames, each holding its quanta of 512 bit times, followed each other without break for more than 200 ms",
			Filter: p.filter(),
		})
	}
	calm.tell(r, func(c candidate) Finding {
		p := &f.pauses.all[c.number]
		return Finding{
			Finding: "pfc-pause", Severity: Warning, Subject: p.name(), about: chooseMAC(p.mac[:]), Filter: p.filter(), like: "macc",
			Text: fmt.Sprintf("%s for %s in all, %.3g %% of the capture, longest %s, by %s%s", p.paused(), duration(p.total),
				100*float64(p.total)/float64(span), duration(p.longest), plural(p.frames, "frame"), atMost),
			Rule: "each pause frame holds its quanta of 512 bit times, until a newer frame of the same class says otherwise",
		}
	})
}

func (p *pause) name() string {
	if p.class == linkClass {
		return macName(p.mac[:]) + " link"
	}
	return fmt.Sprintf("%s class %d", macName(p.mac[:]), p.class)
}

func (p *pause) paused() string {
	if p.class == linkClass {
		return "the link was paused"
	}
	return fmt.Sprintf("class %d was paused", p.class)
}

func (p *pause) filter() string {
	if p.class == linkClass {
		return "eth.src == " + macName(p.mac[:]) + " && macc.opcode == 0x0001"
	}
	return fmt.Sprintf("eth.src == %s && macc.opcode == 0x0101 && macc.cbfc.enbv.c%d == 1", macName(p.mac[:]), p.class)
}
