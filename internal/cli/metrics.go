package cli

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"whichlink/internal/diagnose"
)

// A metric is one of those that check -o prometheus writes, all of them gauges. Docs/metrics.md tells them with the same words.
type metric struct {
	name, help string
	// values returns the samples: labels and numbers.
	values func(d *diagnose.Diagnosis, how *checking) []sample
}

type sample struct {
	labels []string // name, value, ...
	value  float64
}

// metrics returns all metrics, in the order in which they are written.
func metrics() []metric {
	one := func(value func(d *diagnose.Diagnosis, how *checking) float64) func(*diagnose.Diagnosis, *checking) []sample {
		return func(d *diagnose.Diagnosis, how *checking) []sample { return []sample{{nil, value(d, how)}} }
	}
	measured := func(value func(d *diagnose.Diagnosis) float64) func(*diagnose.Diagnosis, *checking) []sample {
		return func(d *diagnose.Diagnosis, how *checking) []sample {
			if how.failed {
				return nil
			}
			return []sample{{nil, value(d)}}
		}
	}
	suspects := func(value func(x *diagnose.Suspect) *float64) func(*diagnose.Diagnosis, *checking) []sample {
		return func(d *diagnose.Diagnosis, _ *checking) []sample {
			var out []sample
			for i := range d.Suspects {
				x := &d.Suspects[i]
				if v := value(x); v != nil {
					out = append(out, sample{[]string{"kind", x.Kind, "id", x.ID, "link", x.Link, "symptom", string(x.Symptom), "class", strconv.Itoa(max(1, len(x.Class)))}, *v})
				}
			}
			return out
		}
	}
	return []metric{
		{"whichlink_build_info", "The version of whichlink that wrote this; always 1.", func(*diagnose.Diagnosis, *checking) []sample {
			return []sample{{[]string{"version", version()}, 1}}
		}},
		{"whichlink_check_state", "The answer of the check: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN.",
			one(func(d *diagnose.Diagnosis, _ *checking) float64 { return float64(stateOf(d)) })},
		{"whichlink_check_duration_seconds", "How long the check took.",
			one(func(_ *diagnose.Diagnosis, how *checking) float64 { return how.took.Seconds() })},
		{"whichlink_check_timestamp_seconds", "When the check ended, in seconds since 1970 UTC.",
			one(func(*diagnose.Diagnosis, *checking) float64 { return float64(time.Now().UnixMilli()) / 1000 })},
		{"whichlink_arcs", "Arcs of the fabric: each link has two.",
			measured(func(d *diagnose.Diagnosis) float64 { return float64(d.Coverage.Arcs) })},
		{"whichlink_arcs_measured", "Arcs that probes crossed; the others are unknown, not healthy.",
			measured(func(d *diagnose.Diagnosis) float64 { return float64(d.Coverage.Measured) })},
		{"whichlink_suspects", "Suspects with a probability of at least 0.5.",
			measured(func(d *diagnose.Diagnosis) float64 { n, _, _ := worst(d); return float64(n) })},
		{"whichlink_suspect_probability", "How probably a suspect is at fault, or another of the class that the evidence cannot tell from it.", suspects(func(x *diagnose.Suspect) *float64 { return &x.Probability })},
		{"whichlink_suspect_loss_ratio", "The share of packets that a suspect loses or corrupts.", suspects(func(x *diagnose.Suspect) *float64 { return x.Loss })},
		{"whichlink_suspect_delay_seconds", "The delay that a suspect adds.", suspects(func(x *diagnose.Suspect) *float64 {
			if x.Delay == nil {
				return nil
			}
			s := *x.Delay / 1e6
			return &s
		})},
		{"whichlink_pairs_compared", "Pairs of hosts, by length of the path, that were held against the baseline; absent without --baseline.",
			func(_ *diagnose.Diagnosis, how *checking) []sample {
				if how.compared == nil {
					return nil
				}
				return []sample{{nil, float64(how.compared.Compared)}}
			}},
		{"whichlink_pair_rtt_seconds", "Round trips of a pair of hosts, by length of the path in arcs there and back: floor, median or tail; absent without --baseline.", pairSamples},
	}
}

// pairSamples are what the meter of the baseline saw.
func pairSamples(_ *diagnose.Diagnosis, how *checking) []sample {
	if how.meter == nil {
		return nil
	}
	var out []sample
	for _, r := range how.meter.Runs() {
		for _, p := range []struct {
			part string
			us   float64
		}{{"floor", r.Floor.At}, {"median", r.Median.At}, {"tail", r.Tail.At}} {
			out = append(out, sample{[]string{"pair", r.Pair, "arcs", strconv.Itoa(r.Arcs), "part", p.part}, p.us / 1e6})
		}
	}
	return out
}

// escapeLabel is what the text format asks of the values of labels.
var escapeLabel = strings.NewReplacer("\\", "\\\\", "\"", "\\\"", "\n", "\\n")

// printMetrics writes metrics in the text format of Prometheus, to --out as a whole or to standard output.
func (e *env) printMetrics(d *diagnose.Diagnosis, how *checking) error {
	var b bytes.Buffer
	for _, m := range metrics() {
		samples := m.values(d, how)
		if len(samples) == 0 {
			continue
		}
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s gauge\n", m.name, m.help, m.name)
		for _, s := range samples {
			labels := []string{fmt.Sprintf("fabric=\"%s\"", escapeLabel.Replace(d.Fabric))}
			for i := 0; i < len(s.labels); i += 2 {
				labels = append(labels, fmt.Sprintf("%s=\"%s\"", s.labels[i], escapeLabel.Replace(s.labels[i+1])))
			}
			fmt.Fprintf(&b, "%s{%s} %s\n", m.name, strings.Join(labels, ","), strconv.FormatFloat(s.value, 'g', -1, 64))
		}
	}
	if how.out != "" {
		return writeWhole(how.out, b.Bytes())
	}
	_, err := e.stdout.Write(b.Bytes())
	return err
}
