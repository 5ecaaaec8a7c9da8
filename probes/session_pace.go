package probes

import (
	"sync"
	"time"
)

const (
	// echoShare is the part of a session's rate that goes to echoes where nothing else asks for more.
	echoShare = 0.9
	// askingShare is the part that may go to TTL-limited probes, and to what is asked of reflectors, where there is much to find out: echoes wait
	// meanwhile.
	askingShare = 0.5
)

// A pace keeps all packets of a session together within its rate. The zero time is when it begins.
type pace struct {
	rate float64

	mu      sync.Mutex // guards all below
	last    time.Time
	echoes  float64 // that may be sent now; below zero where others took their place
	asking  float64 // other packets that may be sent now
	reserve float64 // other packets that take nobody's place
}

func newPace(rate float64, now time.Time) *pace { return &pace{rate: rate, last: now} }

// burst is how many packets of a kind may follow each other. What was missed in a longer pause is not made up for.
func (p *pace) burst() float64 { return max(2, p.rate/20) }

// earn adds what time has brought. The mutex is held.
func (p *pace) earn(now time.Time) {
	packets, most := p.rate*now.Sub(p.last).Seconds(), p.burst()
	p.last = now
	p.echoes = min(p.echoes+echoShare*packets, most)
	p.asking = min(p.asking+askingShare*packets, most)
	p.reserve = min(p.reserve+(1-echoShare)*packets, most)
}

// echo reports whether an echo may be sent, and counts it.
func (p *pace) echo(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.earn(now)
	if p.echoes < 1 {
		return false
	}
	p.echoes--
	return true
}

// mayAsk reports whether another packet may be sent; patient, only if many might be.
func (p *pace) mayAsk(patient bool, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.earn(now)
	if patient {
		return p.asking >= max(1, p.burst()/2)
	}
	return p.asking >= 1
}

// asked counts packets other than echoes that were sent.
func (p *pace) asked(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asking -= float64(n)
	if p.reserve -= float64(n); p.reserve < 0 {
		p.echoes += p.reserve
		p.reserve = 0
	}
}
