package localize

import "math"

// A term is an observation whose likelihood is not linear in the hazards: it lost packets, or its path is uncertain.
//
// It is a mixture. With 1-outlier, packets are lost by the hazards of the path alone. Else the flow (or, for TTL-limited probes,
// the responder) also loses a share of its own: one that is drawn as [habits] has it, or now and then all.
type term struct {
	// What is asked for most comes first.
	meter        *reading // what a device counted; nil for an observation
	first, n     int32    // its branches
	whole        int32    // lost, if that is a small integer and something passed; else 0: see over
	obs          int32    // in evidence.obs
	lost, passed float64  // of each observation: counts after the cap on bursts
	// Logs of the weight of the two parts, and what the outlier part needs: the log of part*keep*Beta(passed+keep, lost+1), its mean and deviation, and the
	// greatest value of the part, but for keep*s. The deviation's inverse is sharp. Where next to nothing passes the path the part is less than that: not
	// more than ceiling, but for -passed*s, which is over the inlier part without losses what lid is.
	inlier, base, mean, sharp, lid float64
	keep                           float64 // what an outlier keeps of its packets, one of keeping: that of its kind
	outlier, beta, dev, ceiling    float64

	copies      float64 // observations that are alike, where nothing was lost; else 1
	lone        bool    // everything was lost
	answers     bool    // what is missing are the answers of a switch
	carried     bool    // the flow is of the fabric's own traffic
	kind        int8
	own         float64 // of a missing answer that is an outlier: the probability that the responder held it back
	total       float64 // the chance that it loses everything if it is an outlier
	same        float64 // how many observations have these losses of the flow's own in common; else 1
	part, still float64 // how much of the outlier part its kind stands for, and how likely an outlier loses nothing: see setHabits
	// Not their logs, for both: the weights of the two parts, that of the outlier part where it keeps all, and its greatest value but for keep*s.
	stay, odd, bulk float64
	// Where only observations with losses were kept, how likely it is that none of the packets is lost where the path has no hazard: see kept. Else 0.
	none float64
}

// negligible is how much less a summand's logarithm may be than another's to be left out.
const negligible = 8

// usuallyTotal is the chance that an outlier loses everything, before any evidence.
const usuallyTotal = 0.2

func newTerm(o *merged, cfg Config) term {
	k := float64(o.lost)
	t := term{copies: 1, lost: k, passed: float64(o.sent - o.lost), lone: o.lost == o.sent, answers: o.ttl(), carried: o.Carried, own: 1, same: 1, total: usuallyTotal}
	if cfg.bursts.some() { // answers of switches, too: where the packets of a way say little, what its switches hold back would be laid to it
		t.lost, t.passed = cfg.bursts.independent(o)
		k = t.lost
	}
	most := cfg.Cap
	if o.bursts > 0 && !cfg.bursts.some() {
		// A run of losses proves hardly more than its first loss does: that the flow was hit once more.
		most = min(most, 1+2*float64(o.bursts))
	}
	if k > most {
		t.lost = most
		t.passed *= most / k
	}
	if !t.lone && t.lost == math.Floor(t.lost) && t.lost < 32 {
		t.whole = int32(t.lost)
	}
	if t.lost > 0 {
		h := unknownHabits(cfg)
		t.setHabits(&h, h.rate[sortOf(t.carried)])
	}
	return t
}

// fullWeight is that of a term which surely tells of what its packets crossed.
const fullWeight = 8

// weight is how much a lossy term counts where it is told how many of them components have in common: answers that the responder may well have held
// back tell little of what their packets crossed.
func (t *term) weight() int32 {
	if t.answers && t.outlier > often {
		return 1
	}
	return fullWeight
}

func (t *term) setOutlier(w float64) {
	t.inlier, t.outlier = math.Log1p(-w), log(w)
	t.base = t.outlier + log(1-t.total) + t.beta
	t.ceiling = t.outlier + log((1-t.total)*t.part*t.keep/(t.passed+t.keep))
	t.lid = exp(t.ceiling - t.inlier)
	t.stay, t.odd, t.bulk = 1-w, w*(1-t.total)*t.part*t.keep, exp(t.base)
	if t.none > 0 {
		t.selected()
	}
	if t.lone {
		t.base = t.outlier
	}
}

// outright reports whether both tells the two parts of the mixture.
func (t *term) outright() bool { return t.lost > 0 && t.none == 0 && t.meter == nil }

func lgamma(x float64) float64 {
	if i := int(x); x < float64(len(lgammas)) && float64(i) == x && i > 0 {
		return lgammas[i]
	}
	v, _ := math.Lgamma(x)
	return v
}

// at returns the log-likelihood of the term if its packets met a hazard of s in all.
func (t *term) at(s float64) float64 {
	if t.meter != nil {
		return t.meter.at(s)
	}
	if t.lost == 0 {
		return -t.passed * s
	}
	if in, out := t.over(s); out > 0 {
		return t.base + t.keep*s + log(in+out)
	}
	miss := missed(s)
	in := t.inlier + t.lost*log(miss) - t.passed*s
	if t.none > 0 {
		return logSum(in, t.other(s, miss, in)) - log(t.kept(s))
	}
	return logSum(in, t.other(s, miss, in))
}

// selected tells that the observation would not be known if it had lost nothing: its losses prove only what they do beyond there being some.
func (t *term) selected() {
	w := exp(t.outlier)
	t.none = 1 - w + w*(1-t.total)*t.still
	t.whole = 0 // over does not divide by what is kept
}

// kept returns the probability that packets are lost under hazard s.
func (t *term) kept(s float64) float64 {
	miss := missed((t.lost + t.passed) * s)
	return max(1-t.none+t.none*miss, 1e-300)
}

// over returns the likelihoods of the two parts of the mixture over what bounds the outlier part, exp(base+keep*s), without logarithms: products serve where
// sums of the logs would be asked for. Out is 0 where they cannot be told so, and parts must do.
func (t *term) over(s float64) (in, out float64) {
	if t.whole == 0 {
		return 0, 0
	}
	miss := fewMissed(s)
	if s >= fewMissing {
		miss = 1 - exp(-s)
	}
	z := (1 - miss - t.mean) * t.sharp
	e := t.inlier - t.base - (t.passed+t.keep)*s
	if z < -2 || e > 300 {
		return 0, 0
	}
	e = exp(e)
	out = t.lid * e
	if most := below(z); most < out {
		out = most
	}
	if t.whole > 1 {
		return raise(miss, t.whole) * e, out
	}
	return miss * e, out
}

// both returns the two parts of the mixture themselves, as far as floating point tells them: where several ways are added up, no logarithm is needed of each.
func (t *term) both(s float64) (in, out float64) {
	miss := missed(s)
	pass := 1 - miss
	if t.lone {
		lost := exp(t.lost * log(miss))
		return t.stay * lost, (1 - t.stay) * t.losesAll(pass, lost*miss)
	}
	arrive := exp(-t.passed * s)
	lost := arrive
	if t.whole > 0 {
		lost *= raise(miss, t.whole)
	} else {
		lost *= exp(t.lost * log(miss))
	}
	switch z := (pass - t.mean) * t.sharp; {
	case z > 4:
		out = t.bulk * exp(t.keep*s)
	case z > -2:
		out = min(t.bulk*exp(t.keep*s)*below(z), t.lid*t.stay*arrive)
	default:
		out = t.odd * lost / (t.keep + max(0, t.passed-t.lost*pass/miss))
	}
	return t.stay * lost, out
}

// byPath returns the share of the likelihood that is that of the first part of the mixture; below 0 where that is not told.
func (t *term) byPath(s float64) float64 {
	if in, out := t.over(s); out > 0 {
		return in / (in + out)
	}
	return -1
}

// sureByPath is byPath wherever packets were lost.
func (t *term) sureByPath(s float64) float64 {
	if t.outright() {
		if in, out := t.both(s); in+out > 0 {
			return in / (in + out)
		}
	}
	in, out := t.parts(s)
	return 1 / (1 + exp(out-in))
}

// raise returns the n-th power of x.
func raise(x float64, n int32) float64 {
	p := 1.0
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			p *= x
		}
		x *= x
	}
	return p
}

// below returns the share of a normal distribution below z deviations, z from -2 on, to 2e-4 (J. T. Lin 1990).
func below(z float64) float64 {
	x := (z + 2) * normalCells
	if !(x < float64(len(normal)-1)) {
		return 1
	}
	i := uint(x)
	return normal[i] + (x-float64(i))*(normal[i+1]-normal[i])
}

// normalCells is how many points of the distribution are known beforehand to a deviation.
const normalCells = 64

var normal = normalShares() // from -2 deviations to 4

func normalShares() (share [6*normalCells + 1]float64) {
	for i := range share {
		z := float64(i)/normalCells - 2
		share[i] = 1 / (1 + math.Exp(-z*(1.5976+0.070566*z*z)))
	}
	return share
}

// parts returns the logs of the two parts of the mixture.
func (t *term) parts(s float64) (in, out float64) {
	if t.meter != nil {
		return t.meter.at(s), math.Inf(-1)
	}
	miss := missed(s)
	in = t.inlier + t.lost*log(miss) - t.passed*s
	return in, t.other(s, miss, in)
}

// other returns the log of the outlier part, given the share of packets missed under hazard s, and the log of the inlier part.
func (t *term) other(s, miss, in float64) float64 {
	pass := 1 - miss
	if t.lone {
		return t.outlier + log(t.losesAll(pass, exp((t.lost+1)*log(miss))))
	}
	// The integral of (q*pass)^passed (1-q*pass)^lost over q is an incomplete Beta function. Its normal approximation is good enough for
	// a nuisance; far below the mean the integrand is an exponential that ends at q=1.
	switch z := (pass - t.mean) / t.dev; {
	case z > 4:
		return t.base + t.keep*s
	case z > -2:
		return min(t.base+t.keep*s+log(below(z)), t.ceiling-t.passed*s)
	default:
		return t.outlier + log((1-t.total)*t.part*t.keep) + in - t.inlier - log(t.keep+max(0, t.passed-t.lost*pass/miss))
	}
}

// losesAll returns how likely an outlier loses everything, where a share of packets would pass and more is the chance that one packet more than were lost would all be missed. Exactly: the
// integral of (1-q*pass)^lost over q, and the chance of total loss.
func (t *term) losesAll(pass, more float64) float64 {
	uniform := 1.0
	if pass > 1e-9 {
		uniform = (1 - more) / (pass * (t.lost + 1))
	}
	return t.total + (1-t.total)*uniform
}

// missed returns the share of packets lost under hazard s.
func missed(s float64) float64 {
	if s < fewMissing {
		return fewMissed(s)
	}
	return 1 - exp(-s)
}

// fewMissing is the hazard up to which fewMissed returns the share of packets lost.
const fewMissing = 0.02

func fewMissed(s float64) float64 { return s * (1 - s*(1./2)*(1-s*(1./3)*(1-s*(1./4)))) }

// logSum returns log(exp(a)+exp(b)).
func logSum(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	if a-b > negligible || math.IsInf(a, -1) {
		return a
	}
	return a + log(1+exp(b-a))
}
