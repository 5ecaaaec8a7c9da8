package captures

import (
	"fmt"
	"slices"
	"strings"
)

// shortFrom is from how many findings on a report begins with a table of their kinds: fewer are seen at once.
const shortFrom = 6

// A kindSum is what the findings of one kind come to.
type kindSum struct {
	finding  string
	severity Severity
	count    int64
	about    int // flows, queue pairs, senders
	worst    int // number of the first finding of the kind in the report
}

// kinds sums up findings by kind, those first of which the worst stands first.
func (r *Report) kinds() []kindSum {
	var out []kindSum
	for i := range r.Findings {
		f := &r.Findings[i]
		k := slices.IndexFunc(out, func(k kindSum) bool { return k.finding == f.Finding && k.severity == f.Severity })
		if k < 0 {
			k = len(out)
			out = append(out, kindSum{finding: f.Finding, severity: f.Severity, worst: i + 1})
		}
		out[k].count += f.Count
		out[k].about += 1 + max(0, f.others-1)
	}
	return out
}

// short is the table of kinds.
func (r *Report) short() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%-8s  %-20s %8s %7s  %s\n", "in short", "", "count", "about", "the worst")
	for _, k := range r.kinds() {
		fmt.Fprintf(&b, "%-8s  %-20s %8d %7d  %d: %s\n", k.severity, k.finding, k.count, k.about, k.worst, r.Findings[k.worst-1].Subject)
	}
	return b.String()
}

// When is the time of a finding: of day in UTC, and with the day where the captures span more than one.
func (f *Finding) When() string {
	if f.From == nil || f.To == nil {
		return ""
	}
	form := "15:04:05.000000"
	if f.dated {
		form = "2006-01-02 " + form
	}
	if f.From.Equal(*f.To) {
		return "at " + f.From.Format(form)
	}
	return f.From.Format(form) + " to " + f.To.Format(form)
}

// date notes in findings whether their times need the day.
func (r *Report) date() {
	var days []string
	for i := range r.Files {
		if f := &r.Files[i]; f.From != nil {
			days = append(days, f.From.Format("2006-01-02"), f.To.Format("2006-01-02"))
		}
	}
	several := len(slices.Compact(days)) > 1
	for i := range r.Findings {
		r.Findings[i].dated = several
	}
}

// Next says what would bring one nearer to the cause of what was found: each step in a line.
func (r *Report) Next() []string {
	found := func(names ...string) bool {
		return slices.ContainsFunc(r.Findings, func(f Finding) bool { return slices.Contains(names, f.Finding) })
	}
	if len(r.Findings) == 0 || r.Findings[0].Severity == Info || len(r.Files) == 0 {
		return nil
	}
	var out []string
	if names := r.words(); len(names) == 1 {
		if found("tcp-loss-before", "roce-loss-before") {
			out = append(out, fmt.Sprintf("what was lost before the point of capture: capture nearer to the senders too, and compare: whichlink pcap --taps NEARER %s", names[0]))
		}
		if found("tcp-loss-after", "roce-loss-after") {
			out = append(out, fmt.Sprintf("what was lost behind it: capture nearer to the receivers too, and compare: whichlink pcap --taps %s NEARER", names[0]))
		}
	}
	if !r.Placed && found("tcp-loss-before", "roce-loss-before", "tcp-loss-after", "roce-loss-after", "tap-loss", "tap-black-hole") {
		out = append(out, "which links may have lost it: --fabric FILE, with --at NODE for where each capture was taken")
	}
	if found("ecn-ce", "roce-cnp", "tap-marked", "pfc-pause", "pfc-storm", "roce-rnr") {
		out = append(out, "which ports queue, pause and discard: whichlink snmp watch, while it lasts")
	}
	if names := r.words(); len(r.Taps) == 0 && !slices.Contains(names, "FILE") {
		out = append(out, fmt.Sprintf("the packets of finding 1 for Wireshark, with what surrounds them: whichlink pcap %s --finding 1 --write slice.pcapng", strings.Join(names, " ")))
	}
	return out
}

// words are the files as a shell takes them, FILE for one that was standard input or has more in its name than a shell leaves alone.
func (r *Report) words() []string {
	var out []string
	for i := range r.Files {
		name := r.Files[i].File
		if strings.ContainsFunc(name, func(c rune) bool { return c > '~' || c <= ' ' || strings.ContainsRune("\"'`$&;|<>()*?[]#!{}\\", c) }) {
			name = "FILE"
		}
		out = append(out, name)
	}
	return out
}
