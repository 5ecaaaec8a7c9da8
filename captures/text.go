package captures

import (
	"fmt"
	"slices"
	"strings"
)

// Text is the report for people: what was read, the findings, the worst first, and the counts.
func (r *Report) Text() string {
	var b strings.Builder
	for _, f := range r.Files {
		fmt.Fprintf(&b, "%s: %s, %s", f.File, plural(f.Packets, "packet"), size(f.Bytes))
		if f.Truncated > 0 {
			fmt.Fprintf(&b, ", %d of them cut by the snap length", f.Truncated)
		}
		if f.From != nil {
			fmt.Fprintf(&b, ", %s from %s", duration(int64(f.To.Sub(*f.From))), f.From.Format("2006-01-02 15:04:05.000000 UTC"))
		}
		if len(f.LinkTypes) > 0 {
			fmt.Fprintf(&b, ", %s", strings.Join(f.LinkTypes, " "))
		}
		b.WriteByte('\n')
		for _, l := range f.NotDecoded {
			fmt.Fprintf(&b, "  %s is not known here: its packets are only counted\n", l)
		}
		if f.Error != "" {
			what := "read up to here"
			if f.Packets == 0 {
				what = "not read"
			}
			fmt.Fprintf(&b, "  %s: %s\n", what, f.Error)
		}
	}
	switch n := len(r.Findings); {
	case r.Packets == 0:
		b.WriteString("\nno packets: nothing can be said\n")
	case n == 0 && !r.decoded():
		b.WriteString("\nno packet could be decoded: nothing can be said\n")
	case n == 0:
		b.WriteString("\nno findings\n")
	}
	if len(r.Findings) >= shortFrom {
		b.WriteString(r.short())
	}
	for i, f := range r.Findings {
		fmt.Fprintf(&b, "\n%-3d %-8s  %s  %s\n", i+1, f.Severity, f.Finding, f.Subject)
		fmt.Fprintf(&b, "              %s\n", f.Text)
		if when := f.When(); when != "" {
			fmt.Fprintf(&b, "              %s\n", when)
		}
		fmt.Fprintf(&b, "              rule    %s\n", f.Rule)
		if f.Filter != "" {
			fmt.Fprintf(&b, "              filter  %s\n", f.Filter)
		}
	}
	b.WriteByte('\n')
	b.WriteString(r.Counts())
	for i, step := range r.Next() {
		if i == 0 {
			b.WriteString("\nnext\n")
		}
		fmt.Fprintf(&b, "  %s\n", step)
	}
	return b.String()
}

// decoded reports whether there is a file of which some packets were more than counted.
func (r *Report) decoded() bool {
	return slices.ContainsFunc(r.Files, func(f FileReport) bool { return len(f.NotDecoded) < len(f.LinkTypes) })
}

// Counts is the part of the report that counts.
func (r *Report) Counts() string {
	var b strings.Builder
	t, q := &r.TCP, &r.RoCE
	fmt.Fprintf(&b, "flows   %d, of which %d TCP\n", r.Flows, t.Flows)
	if t.Flows > 0 {
		fmt.Fprintf(&b, "tcp     %d lost before the point of capture, %d behind, %d missed by the capture; %d sent again (%d fast, %d spurious, %d unneeded), %d out of order, %s seen twice\n",
			t.LostBefore, t.LostAfter, t.Missed, t.Retransmission, t.Fast, t.Spurious, t.Unneeded, t.OutOfOrder, plural(t.Copies, "segment"))
	}
	if q.Packets > 0 {
		fmt.Fprintf(&b, "roce    %s of %s: %d missing in %s, %d sent again, %s, %d not ready, %s, %s, %d wrong of %d iCRC\n",
			plural(q.Packets, "packet"), plural(int64(q.QueuePairs), "queue pair"), q.GapPackets, plural(int64(q.Gaps), "gap"), q.Retransmitted,
			plural(int64(q.NAKSequence), "NAK"), q.RNR, plural(int64(q.TimeoutStalls), "stall"), plural(int64(q.CNP), "CNP"), q.ICRCBad, q.ICRCChecked)
	}
	if d := r.RTT; d != nil {
		fmt.Fprintf(&b, "rtt     %.1f us at least, %.1f in the middle, %.1f at 99 %%, between the point of capture and receivers\n", d.Min, d.P50, d.P99)
	}
	if r.ECN.CE > 0 {
		fmt.Fprintf(&b, "ecn     %s marked\n", plural(r.ECN.CE, "packet"))
	}
	if r.PFC.Frames > 0 {
		fmt.Fprintf(&b, "pfc     %s, %s\n", plural(r.PFC.Frames, "frame"), plural(int64(r.PFC.Storms), "storm"))
	}
	for i := range r.Taps {
		r.Taps[i].text(&b)
	}
	return b.String()
}

// text writes what two taps tell together.
func (t *TapReport) text(b *strings.Builder) {
	fmt.Fprintf(b, "taps    %s and %s: %d and %d packets, %d of them in both\n", t.A, t.B, t.Packets[0], t.Packets[1], t.Matched)
	for i, names := range [2][2]string{{t.A, t.B}, {t.B, t.A}} {
		fmt.Fprintf(b, "        %s > %s: %d lost, %d missed by the capture before", names[0], names[1], t.Lost[i], t.Missed[i])
		if d := t.Delay[i]; d != nil {
			fmt.Fprintf(b, "; one way %.1f us at least, %.1f in the middle, %.1f at 99 %%", d.Min, d.P50, d.P99)
		}
		b.WriteByte('\n')
	}
	if n := t.Apart[0] + t.Apart[1]; n > 0 {
		fmt.Fprintf(b, "        seen on one side only: %s (%d at %s, %d at %s): another way, or a filter\n",
			plural(int64(n), "flow direction"), t.Apart[0], t.A, t.Apart[1], t.B)
	}
}

// size writes bytes to three digits.
func size(n int64) string {
	v, unit := float64(n), "bytes"
	for _, u := range []string{"kB", "MB", "GB", "TB"} {
		if v < 1000 {
			break
		}
		v, unit = v/1000, u
	}
	return fmt.Sprintf("%.4g %s", v, unit)
}
