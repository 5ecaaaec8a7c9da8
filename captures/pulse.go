package captures

import "fmt"

// A pulse is what is heard of a sender that must be heard regularly, and its silences, each longer than its receivers wait.
type pulse struct {
	last, wait        int64 // when it was heard last, and after which silence it is taken for dead
	gaps, longest     int64
	firstGap, lastGap int64
}

// hear notes that the sender was heard. Guarded says that a silence up to now counts; wait holds for the silence that begins.
func (p *pulse) hear(now, wait int64, guarded bool) {
	if guarded && p.wait > 0 && now-p.last > p.wait {
		if p.gaps == 0 {
			p.firstGap = p.last
		}
		p.gaps++
		p.longest = max(p.longest, now-p.last)
		p.lastGap = now
	}
	p.last, p.wait = now, wait
}

// silence makes a sender's silences a candidate for a finding, if there are any.
func (p *pulse) silence(list *ranking, number int) {
	if p.gaps > 0 {
		list.add(candidate{p.gaps, p.firstGap, p.lastGap, uint32(number), 0})
	}
}

// gap says how long nothing was heard. What is sent and the name of how long receivers wait are in the protocol's words.
func (p *pulse) gap(sent, wait string) string {
	return fmt.Sprintf("no %s for up to %s, longer than %s of %s: they were lost before the point of capture, or not sent",
		sent, duration(p.longest), wait, duration(p.wait))
}
