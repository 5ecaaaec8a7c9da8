package probes

import (
	"math"
	"net/netip"
)

// A Class says what the answers of a hop mean.
type Class string

// The classes of a hop.
const (
	// ClassOK: it answers, and what it leaves unanswered could be chance.
	ClassOK Class = "ok"
	// ClassLossy: packets are lost at or before it. The loss is there at every later hop and end to end.
	ClassLossy Class = "lossy"
	// ClassRateLimited: it leaves probes of all flows unanswered, of which the packets beyond it arrive: it limits its ICMP errors.
	ClassRateLimited Class = "rate-limited"
	// ClassSilent: it never answers, while something beyond it does. That is never loss.
	ClassSilent Class = "silent"
	// ClassReplyPath: its answers, or those of the destination, are lost on the way back; what is sent there arrives.
	ClassReplyPath Class = "reply-path"
	// ClassBalanced: several answer to one flow: packets are spread one by one, or the path changed meanwhile.
	ClassBalanced Class = "balanced"
	// ClassUnresolved: what is seen has more than one explanation, or is too little.
	ClassUnresolved Class = "unresolved"
)

// A Sight is what is known of one flow: its hops by TTL, and its echoes end to end. LostForward and LostBack hold only with Split.
type Sight struct {
	Hops                  []Hop
	Sent, Lost            int
	LostForward, LostBack int
	Split                 bool
}

// Classify says what the hops of a flow mean, one class for each of flow.Hops. Control is what is known of other flows, of which
// those count that the same addresses answered. It goes by the rule that loss at a hop is loss of the path only if it persists at
// every later hop and end to end.
func Classify(flow Sight, control []Sight) []Class {
	classes := make([]Class, len(flow.Hops))
	for i := range flow.Hops {
		classes[i] = classify(&flow, i, control)
	}
	return classes
}

// A tallied is a number of probes and how many of them were not answered.
type tallied struct{ sent, missing int }

func classify(flow *Sight, i int, control []Sight) Class {
	h := &flow.Hops[i]
	own := tallied{h.Sent, h.Sent - h.Answered}
	switch {
	case h.Sent == 0:
		return ClassUnresolved
	case h.Answered == 0:
		if flow.answersBeyond(i) {
			return ClassSilent
		}
		return ClassUnresolved
	case balanced(h):
		return ClassBalanced
	case own.missing <= 0:
		return ClassOK
	}
	end, known := flow.end(i)
	if !known {
		return ClassUnresolved
	}
	others := others(control, h.Address())
	persists := !more(own, end)
	for j := i + 1; j < len(flow.Hops) && persists; j++ {
		// A later hop that answers better shows that the packets passed here. What became of those that went all the way says more,
		// so this must be all but certain.
		if l := &flow.Hops[j]; l.Answered > 0 {
			persists = improbable(own, tallied{l.Sent, l.Sent - l.Answered}) > certainty
		}
	}
	if !persists {
		if others.sent > 0 && more(own, others) {
			return ClassReplyPath // the switch answers other flows, so it is not its limit
		}
		return ClassRateLimited
	}
	switch {
	case end.missing == 0:
		return ClassOK
	case flow.Split && flow.LostForward == 0 && flow.LostBack > 0:
		return ClassReplyPath
	case own.missing < 2 || end.missing < 2:
		return ClassUnresolved // one loss means to look longer
	case others.missing > 0 && !more(own, others):
		return ClassUnresolved // flows without loss miss as many answers of this switch
	}
	return ClassLossy
}

// answersBeyond tells whether anything after hop i answered.
func (s *Sight) answersBeyond(i int) bool {
	if s.Sent > s.Lost {
		return true
	}
	for _, h := range s.Hops[i+1:] {
		if h.Answered > 0 {
			return true
		}
	}
	return false
}

// end is what became of probes that went all the way; where the destination tells nothing, as far as anybody answers.
func (s *Sight) end(i int) (tallied, bool) {
	if s.Sent > 0 {
		if s.Split && s.LostForward+s.LostBack == s.Lost && s.LostForward > 0 {
			return tallied{s.Sent, s.LostForward}, true
		}
		return tallied{s.Sent, s.Lost}, true
	}
	for j := len(s.Hops) - 1; j > i; j-- {
		if h := &s.Hops[j]; h.Answered > 0 {
			return tallied{h.Sent, h.Sent - h.Answered}, true
		}
	}
	return tallied{}, false
}

// others adds up what other flows know of a responder.
func others(control []Sight, who netip.Addr) tallied {
	var t tallied
	for _, s := range control {
		for j := range s.Hops {
			if h := &s.Hops[j]; h.Address() == who {
				t.sent += h.Sent
				t.missing += h.Sent - h.Answered
			}
		}
	}
	return t
}

// balanced tells whether one flow is answered by several in earnest: a tenth of the answers is not the first one's.
func balanced(h *Hop) bool {
	return len(h.Responders) > 1 && 10*(h.Answered-h.Responders[0].Answered) >= h.Answered
}

// significance is how improbable a difference must be to be believed. Many hops and flows are compared, so one in a hundred is not enough.
const significance = 0.001

// certainty is how improbable a difference must be to outweigh other evidence.
const certainty = 1e-6

// more tells whether a misses significantly more than b.
func more(a, b tallied) bool { return improbable(a, b) < significance }

// improbable is the probability that a misses that much more than b by chance (Fisher's exact test, one-sided); 1 if it does not
// miss more.
func improbable(a, b tallied) float64 {
	if a.missing <= 0 || a.sent == 0 || b.sent == 0 || a.missing*b.sent <= b.missing*a.sent {
		return 1
	}
	all, missing := a.sent+b.sent, a.missing+max(b.missing, 0)
	p := 0.0
	for k := a.missing; k <= min(missing, a.sent); k++ {
		p += math.Exp(choose(missing, k) + choose(all-missing, a.sent-k) - choose(all, a.sent))
	}
	return p
}

// choose is the logarithm of the binomial coefficient; minus infinity where it is 0.
func choose(n, k int) float64 {
	if k < 0 || k > n {
		return math.Inf(-1)
	}
	lg := func(x int) float64 { v, _ := math.Lgamma(float64(x + 1)); return v }
	return lg(n) - lg(k) - lg(n-k)
}

// Worse tells whether lost of sent is significantly more than otherLost of otherSent: by chance alone it were so in less than one of
// a thousand cases.
func Worse(lost, sent, otherLost, otherSent int) bool {
	return more(tallied{sent, lost}, tallied{otherSent, otherLost})
}
