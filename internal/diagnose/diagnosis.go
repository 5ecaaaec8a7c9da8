// Package diagnose joins sources, the graph and pathfind/localize into a diagnosis. It is the one place where they meet:
// terminal UI, commands and reports render the same [Diagnosis], so what one shows, all can show.
package diagnose

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Schema names the form of a Diagnosis as JSON.
const Schema = "whichlink/diagnosis/v1"

// A Verdict is the answer in one word.
type Verdict string

// The verdicts.
const (
	// Healthy: measured, and nothing found.
	Healthy Verdict = "healthy"
	// Suspects: at least one suspect stands at or above [Named].
	Suspects Verdict = "suspects"
	// Inconclusive: too little evidence to say either; the notes say what is missing.
	Inconclusive Verdict = "inconclusive"
)

// Named is the probability from which a suspect is named in the verdict, and Doubted that from which nobody is told that all is healthy.
const Named, Doubted = 0.5, 0.3

// A Symptom is how a suspect is sick.
type Symptom string

// The symptoms of the contract.
const (
	Loss       Symptom = "loss"
	Flap       Symptom = "flap"
	Down       Symptom = "down"
	Slow       Symptom = "delay"
	Hot        Symptom = "hot"
	Corruption Symptom = "corruption"
	Miswire    Symptom = "miswire"
	Pause      Symptom = "pause"
	MTU        Symptom = "mtu"
	Loop       Symptom = "loop"
)

// A Diagnosis is what the evidence says at one moment. It is immutable once published.
type Diagnosis struct {
	Fabric   string
	From, To time.Time // of the evidence; zero if there is none
	Verdict  Verdict
	Summary  string
	Coverage Coverage
	Sources  []Source
	Suspects []Suspect // ranked, most probable first; those below 0.05 are left out
	Cleared  []Cleared
	Notes    []string
	// Losing tells that packets are lost, though no suspect that is named explains them; JSON has it in words only.
	Losing bool
}

// Coverage says how much of the fabric was measured.
type Coverage struct {
	Arcs       int      `json:"arcs"`
	Measured   int      `json:"measured"`
	Unmeasured []string `json:"unmeasured"`
	// Detectable is the least share of packets that nine in ten of the measured arcs could not have lost without being told, 0 if nothing was measured.
	Detectable float64 `json:"detectable_loss,omitempty"`
}

// A Source is one prober, agent or file, and how fresh its newest record is.
type Source struct {
	By      string    `json:"by"`
	Source  string    `json:"source"`
	Records int       `json:"records"`
	Newest  time.Time `json:"newest"`
}

// A Suspect may explain the evidence.
type Suspect struct {
	Rank int    `json:"rank"`
	Kind string `json:"kind"` // arc, link, node, group, pair, host
	ID   string `json:"id"`
	// Link is the link of an arc or link suspect, else empty.
	Link        string   `json:"link,omitempty"`
	Symptom     Symptom  `json:"symptom"`
	Probability float64  `json:"probability"`
	Class       []string `json:"class"` // all that the evidence cannot tell from this suspect, itself included
	// Loss is the share of packets lost at the suspect, with a 90 % credible interval: of one that was bad in one episode, while that lasted.
	// Nil where the symptom has none.
	Loss     *float64 `json:"loss,omitempty"`
	LossLow  *float64 `json:"loss_low,omitempty"`
	LossHigh *float64 `json:"loss_high,omitempty"`
	// Hit is the share of the flows that cross the suspect which lose packets there, where others cross it clean; nil where it hits all alike.
	Hit *float64 `json:"flows_hit,omitempty"`
	// Delay is the typical delay that the suspect adds, with a 95 % credible interval, in microseconds: to the median of a flow's probes, or their slowest tenth, in the mean of the flows. Nil where the symptom has none.
	Delay     *float64 `json:"delay_us,omitempty"`
	DelayLow  *float64 `json:"delay_low_us,omitempty"`
	DelayHigh *float64 `json:"delay_high_us,omitempty"`
	// Until is when packets were last lost, or late, or the suspect was last hot, or stopped others, where it has probably ceased since.
	Until *time.Time `json:"until,omitempty"`
	// DSCPs are those of the flows that the suspect delays, where it lets others cross in time.
	DSCPs []int `json:"dscps,omitempty"`
	// Period is the rhythm of a flap, or of a delay, in milliseconds, 0 if not known or not regular.
	PeriodMS int `json:"period_ms,omitempty"`
	// Duty is the share of the time in which the suspect was bad, and Episodes are when that was; of a suspect that loses, or adds delay, all the time, or is hot now, there are none.
	// DutyLow and DutyHigh are the 90 % credible interval of the duty cycle, 0 if not known.
	Duty     float64    `json:"duty,omitempty"`
	DutyLow  float64    `json:"duty_low,omitempty"`
	DutyHigh float64    `json:"duty_high,omitempty"`
	Episodes []Episode  `json:"episodes,omitempty"`
	For      string     `json:"for"`
	Against  string     `json:"against"`
	Evidence []Evidence `json:"evidence"`
	// Doubts is the evidence that speaks against the suspect, where a source contradicts the others; the probability reflects it.
	Doubts []Evidence `json:"doubts,omitempty"`
	Next   []Step     `json:"next"`

	dial dial // how times are told of it
	once bool // of a link that flaps: it went down once, and came up again
	// isDown is set of one that flaps and is down as far as ports told last.
	isDown bool
	// fresh is set of one that went down so short a time ago that nobody knows whether it came up again.
	fresh bool
	// oneWay tells of an arc that comes and goes that packets came over its link the other way meanwhile.
	oneWay bool
	when   string // of one that loses packets some of the time, or added delay: when that was, in words
	most   string // how many of its losses were then, in words
	then   bool   // its loss is that of this time, not of all the time

	forOnly string // what the flows have in common that suffer from it, in words, where others do not

	passes, drops int // of one that drops long packets: the longest that pass, and the shortest that do not

	perhaps time.Time // when it may have stopped, where that is not told from chance

	idle string // what one does that routing goes around, where that is not known to be down

	spares bool // only packets of captures suffer from it, and no probes
}

// Evidence is one sentence of proof and where it comes from.
type Evidence struct {
	Source string `json:"source"`
	Text   string `json:"text"`
}

// A Step is what to do next, and why; a command line that only one host can run names it.
type Step struct {
	Why string `json:"why"`
	On  string `json:"on,omitempty"`
	Do  string `json:"do"`
}

// What says what to do, and on which host.
func (s Step) What() string {
	if s.On == "" {
		return s.Do
	}
	return "on " + s.On + ": " + s.Do
}

// Typed reports whether what to do is a command line, which may be copied as it stands.
func (s Step) Typed() bool { return strings.HasPrefix(s.Do, "whichlink ") }

// Cleared is something that looked wrong and is not.
type Cleared struct {
	ID  string `json:"id"`
	Why string `json:"why"`
}

// gain adds a suspect, unless it is there with no less: the same host is to blame for what it does to several arcs.
func (d *Diagnosis) gain(x Suspect) bool {
	same := func(y Suspect) bool { return y.Kind == x.Kind && y.ID == x.ID && y.Symptom == x.Symptom }
	if i := slices.IndexFunc(d.Suspects, same); i >= 0 {
		if d.Suspects[i].Probability >= x.Probability {
			return false
		}
		d.Suspects = slices.Delete(d.Suspects, i, i+1)
	}
	d.Suspects = append(d.Suspects, x)
	return true
}

// MarshalJSON writes the diagnosis in the form of [Schema]: empty lists as [], unknown times as null.
func (d *Diagnosis) MarshalJSON() ([]byte, error) {
	when := func(t time.Time) *time.Time {
		if t.IsZero() {
			return nil
		}
		t = t.UTC()
		return &t
	}
	unmeasured := d.Coverage
	unmeasured.Unmeasured = orEmpty(d.Coverage.Unmeasured)
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false) // arcs are written with >, and people read this
	err := enc.Encode(struct {
		Schema   string     `json:"schema"`
		Fabric   string     `json:"fabric"`
		From     *time.Time `json:"from"`
		To       *time.Time `json:"to"`
		Verdict  Verdict    `json:"verdict"`
		Summary  string     `json:"summary"`
		Coverage Coverage   `json:"coverage"`
		Sources  []Source   `json:"sources"`
		Suspects []Suspect  `json:"suspects"`
		Cleared  []Cleared  `json:"cleared"`
		Notes    []string   `json:"notes"`
	}{Schema, d.Fabric, when(d.From), when(d.To), d.Verdict, d.Summary, unmeasured,
		orEmpty(d.Sources), orEmpty(d.Suspects), orEmpty(d.Cleared), orEmpty(d.Notes)})
	return text.Bytes(), err
}

func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
