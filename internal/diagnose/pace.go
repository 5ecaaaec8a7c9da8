package diagnose

import (
	"slices"
	"time"
)

// moments is in how many parts the time of all evidence is divided to tell how fast packets were sent.
const moments = 1024

// A pace is how many packets were sent by the end of each of these parts.
type pace [moments]float64

// paces returns the pace of the packets of each trip of which some were lost.
func (s *Store) paces() map[trip]*pace {
	all := map[trip]*pace{}
	for _, l := range s.order {
		if slices.ContainsFunc(l.echoes, func(e echo) bool { return e.lost > 0 }) {
			all[l.there()] = new(pace)
		}
	}
	whole := s.flowing.to.Sub(s.flowing.from).Seconds()
	for _, l := range s.order {
		p := all[l.there()]
		if p == nil {
			continue
		}
		for j := range l.echoes {
			e := &l.echoes[j]
			p.send(e.start.Sub(s.flowing.from).Seconds()/whole, e.end.Sub(s.flowing.from).Seconds()/whole, float64(e.sent))
		}
	}
	for _, p := range all {
		for i := 1; i < moments; i++ {
			p[i] += p[i-1]
		}
	}
	return all
}

// send adds to each part what was sent in it of packets that were sent evenly from one time to another, each a share of the whole.
func (p *pace) send(from, to, packets float64) {
	from = min(max(from*moments, 0), moments-1)
	to = min(max(to*moments, from+1e-6), moments)
	for i := int(from); float64(i) < to; i++ {
		p[i] += packets * (min(float64(i+1), to) - max(float64(i), from)) / (to - from)
	}
}

// add adds what else was sent.
func (p *pace) add(q *pace) {
	for i := range p {
		p[i] += q[i]
	}
}

// until returns the share of it that was sent by a time of the whole.
func (p *pace) until(at, whole time.Duration) float64 {
	x := min(max(at.Seconds()/whole.Seconds(), 0), 1) * moments
	i := min(int(x), moments-1)
	before := 0.0
	if i > 0 {
		before = p[i-1]
	}
	return (before + (x-float64(i))*(p[i]-before)) / p[moments-1]
}
