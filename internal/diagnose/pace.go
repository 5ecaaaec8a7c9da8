package diagnose

import (
	"math"
	"time"
)

// moments is in how many parts the time of all evidence is divided to tell how fast packets were sent.
const moments = 1024

// A pace is how many packets were sent by the end of each of these parts.
type pace [moments]float64

// paceOf returns the pace of what some flows sent, each window of it evenly.
func (s *Store) paceOf(flows []*flowLog) *pace {
	p, rate := new(pace), make([]float64, moments+1) // what rate changes by from one part to the next
	part := s.flowing.to.Sub(s.flowing.from).Seconds() / moments
	for _, l := range flows {
		for j := range l.echoes {
			e := &l.echoes[j]
			from := min(max(e.start.Sub(s.flowing.from).Seconds()/part, 0), moments-1)
			to := min(max(e.end.Sub(s.flowing.from).Seconds()/part, from+1e-6), moments)
			each := float64(e.sent) / (to - from)
			first, last := math.Floor(from), math.Ceil(to)-1
			if first == last {
				p[int(first)] += float64(e.sent)
				continue
			}
			p[int(first)] += each * (first + 1 - from)
			p[int(last)] += each * (to - last)
			rate[int(first)+1] += each
			rate[int(last)] -= each
		}
	}
	sent, now := 0.0, 0.0
	for i := range p {
		now += rate[i]
		sent += p[i] + now
		p[i] = sent
	}
	return p
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
