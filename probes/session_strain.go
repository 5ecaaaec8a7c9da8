package probes

import (
	"sync"
	"time"

	"whichlink/graphs"
	"whichlink/internal/evidence"
)

// A vigil tells when this process did not run, by the clock of a loop that is to come round every few milliseconds. The zero value has not begun.
type vigil struct {
	mu   sync.Mutex // guards all below
	last time.Time  // when the loop last came round
	woke time.Time  // when it came round too late
}

const (
	// leastPause is how much later than it is due the loop must come round for a pause. What a shorter one holds up comes in time still.
	leastPause = 30 * time.Millisecond
	// catchUp is how long after a pause it takes to read what came meanwhile. To judge before would take for lost what was not read.
	catchUp = 20 * time.Millisecond
)

// beat notes that the loop, which is due every tick, has come round, and returns the pause if it comes too late. A machine that stands still may
// stop its clock, too, and set it right when it goes on, so the time of day counts as well.
func (v *vigil) beat(now time.Time, tick time.Duration) (pause strain, late bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	last := v.last
	v.last = now
	if last.IsZero() || max(now.Sub(last), now.Round(0).Sub(last.Round(0))) <= tick+leastPause {
		return strain{}, false
	}
	v.woke = now
	return strain{what: evidence.Pause, from: last.UnixNano(), to: now.UnixNano()}, true
}

// toCatchUp returns how long to wait until what came in a pause was read.
func (v *vigil) toCatchUp(now time.Time) time.Duration {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.woke.IsZero() {
		return 0
	}
	return min(max(0, v.woke.Add(catchUp).Sub(now)), catchUp)
}

// beat notes that the session runs.
func (s *Session) beat(now time.Time) {
	if pause, late := s.vigil.beat(now, s.sendTick()); late {
		s.engine.own.add(pause)
	}
}

// sendTick is how often echoes are sent. Few packets at a time keep queues short; many wake-ups cost more than the packets.
func (s *Session) sendTick() time.Duration {
	return min(max(time.Duration(4/s.cfg.Rate*float64(time.Second)), time.Millisecond), 20*time.Millisecond)
}

// emitStrains writes down when this host and those that answer were too busy since last time. The mutex is held.
func (s *Session) emitStrains() {
	for _, x := range s.engine.own.take() {
		s.emitStrain(x, s.cfg.Host)
	}
	for _, fl := range s.flows {
		for _, x := range fl.stream.end.strains.take() {
			s.emitStrain(x, fl.dst)
		}
	}
}

func (s *Session) emitStrain(x strain, host graphs.NodeID) {
	r := &evidence.Record{
		V: evidence.Version, Time: time.Unix(0, x.to).UTC(), Source: evidence.SourceProbe, By: s.fabric.NodeName(s.cfg.Host), Kind: evidence.KindStrain,
		Node: s.fabric.NodeName(host), Strain: x.what, WindowMS: int((x.to - x.from + 999_999) / 1_000_000),
	}
	if x.count > 0 {
		r.Count = evidence.Int(x.count)
	}
	s.cfg.Emit(r)
}

// linger waits for the last answers, which take a round trip; losses are sure when the engine's least patience has passed twice. Time in which this
// process does not run is not waited: what came is not read then, and there is no later window in which to take it back.
func (s *Session) linger() {
	const tick, ticks, longest = 20 * time.Millisecond, 25, 3 * time.Second
	end := time.Now().Add(longest)
	for i := range ticks {
		if time.Now().After(end) {
			return
		}
		if i == ticks-5 {
			s.askLast()
		}
		time.Sleep(tick)
	}
}

// askLast sends a last probe to each reflector that owes answers, or did of late: with the next one it tells what its host lost of those.
func (s *Session) askLast() {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := map[*farEnd]bool{}
	for _, fl := range s.flows {
		if undecided, waiting := fl.stream.Pending(); (undecided+waiting > 0 || fl.losses > 0.1) && !asked[fl.stream.end] {
			asked[fl.stream.end] = true
			fl.stream.Reach()
		}
	}
}
