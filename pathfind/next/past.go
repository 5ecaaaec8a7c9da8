package next

import (
	"cmp"
	"math"
)

// A Count is packets of a flow on one way.
type Count struct{ Sent, Lost int }

func (c Count) compare(d Count) int {
	return cmp.Or(cmp.Compare(c.Sent, d.Sent), cmp.Compare(c.Lost, d.Lost))
}

// possible returns a count as it can be: no more are lost than were sent.
func (c Count) possible() Count {
	c.Sent = max(c.Sent, 0)
	return Count{c.Sent, min(max(c.Lost, 0), c.Sent)}
}

// ownTrouble is the share of flows that lose packets for a reason of their own, as localize has it before any evidence.
const ownTrouble = 0.002

// passed returns the probability that n packets of a flow pass which meet a hazard of others whatever is true, and which cross a cause (nil if there is none)
// as many times as crossed says, with a probability each. What a flow lost before it goes on to lose, whether it crosses the cause or has troubles
// of its own: a flow that loses packets tells little more of which it is, however many it carries.
func passed(n, others float64, c *Cause, crossed [3]float64, before Count) float64 {
	m := mixture{n: n, before: before}
	m.add(crossed[0], others)
	for times := 1; c != nil && times < len(crossed); times++ {
		for _, h := range c.hazards() {
			m.add(crossed[times]/float64(len(c.hazards())), others+float64(times)*h)
		}
	}
	if before.Lost > 0 {
		m.addOwn()
	}
	return m.passed()
}

// A mixture is what may explain what a flow lost before, each with its log-likelihood and with the probability that n more packets pass.
type mixture struct {
	n      float64
	before Count
	size   int
	likely [8]float64
	pass   [8]float64
}

func (m *mixture) put(likely, pass float64) {
	m.likely[m.size], m.pass[m.size] = likely, pass
	m.size++
}

// add adds a hazard that the flow meets with a probability.
func (m *mixture) add(share, hazard float64) {
	if !(share > 0) {
		return
	}
	likely := math.Log(share)
	if m.before.Lost > 0 { // a flow without loss is no sign of anything but what the weights of the causes say already
		likely += float64(m.before.Lost)*math.Log(-math.Expm1(-hazard)) - float64(m.before.Sent-m.before.Lost)*hazard
	}
	m.put(likely, math.Exp(-m.n*hazard))
}

// addOwn adds troubles of the flow's own, of which any share of loss is as likely as any other.
func (m *mixture) addOwn() {
	lost, kept := float64(m.before.Lost), float64(m.before.Sent-m.before.Lost)
	now := logBeta(lost+1, kept+1)
	m.put(math.Log(ownTrouble)+now, math.Exp(logBeta(lost+1, kept+m.n+1)-now))
}

// passed returns the probability that n more packets pass, over all explanations.
func (m *mixture) passed() float64 {
	top := math.Inf(-1)
	for _, l := range m.likely[:m.size] {
		top = max(top, l)
	}
	sum, pass := 0.0, 0.0
	for i, l := range m.likely[:m.size] {
		w := math.Exp(l - top)
		sum += w
		pass += w * m.pass[i]
	}
	return pass / sum
}

func logBeta(a, b float64) float64 {
	x, _ := math.Lgamma(a)
	y, _ := math.Lgamma(b)
	z, _ := math.Lgamma(a + b)
	return x + y - z
}
