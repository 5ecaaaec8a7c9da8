package cli

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"whichlink/graphs"
	"whichlink/pathfind/whatif"
)

// Bounds of lists in text; -o json has all of them.
const (
	mostRows  = 10
	fewBroken = 3 // switches at which the rule is broken
	fewHot    = 5 // arcs
)

// A whatIfText writes an answer as text.
type whatIfText struct {
	strings.Builder
	c *whatif.Config
	f *graphs.Fabric
	a *whatif.Answer
}

func printWhatIf(w io.Writer, c *whatif.Config, a *whatif.Answer) error {
	t := &whatIfText{c: c, f: c.Fabric, a: a}
	t.head()
	t.rule()
	t.switches()
	t.hosts()
	t.pairs()
	t.load()
	_, err := io.WriteString(w, t.String())
	return err
}

func (t *whatIfText) line(format string, args ...any) {
	t.WriteString(strings.TrimRight(fmt.Sprintf(format, args...), " ") + "\n")
}

// beside writes words after the columns of a row, and below each other where they are too long for the line.
func (t *whatIfText) beside(row string, words []string) {
	text := strings.TrimSuffix(wrap(words, " ", max(20, textColumns-len(row))), "\n")
	t.line("%s%s", row, strings.ReplaceAll(text, "\n  ", "\n"+strings.Repeat(" ", len(row))))
}

// more says how many rows of a list are left out.
func (t *whatIfText) more(n int) {
	if n > mostRows {
		t.line("and %d more", n-mostRows)
	}
}

func (t *whatIfText) head() {
	t.beside("fabric  ", []string{t.f.Name() + ",", "model", t.a.Model})
	if len(t.c.Drain) > 0 {
		t.beside("drain   ", nameThings(t.c.Drain))
	}
	if len(t.c.Fail) > 0 {
		t.beside("fail    ", nameThings(t.c.Fail))
	}
	gone := fmt.Sprintf("gone    %d of %s", t.a.LinksGone, plural(t.f.NumLinks(), "link"))
	if n := t.a.SwitchesGone; n > 0 {
		gone += ", " + plural(n, "switch")
	}
	if n := t.a.HostsGone; n > 0 {
		gone += ", " + plural(n, "host")
	}
	t.line("%s", gone)
	if !t.a.SpeedKnown {
		t.line("speeds  none is known: capacities are in links")
	}
}

func (t *whatIfText) rule() {
	r := t.a.Rule
	words := []string{"ok,"}
	if n := len(r.Broken); n > 0 {
		words = []string{"BROKEN at", plural(n, "switch") + ","}
	}
	words = append(words, fmt.Sprintf("at most %s of a switch's neighbours at once", r.Limit))
	if len(r.Broken) == 0 {
		worst := "none loses any"
		if r.Worst >= 0 {
			s := &t.a.Switches[r.Worst]
			worst = fmt.Sprintf("worst %s loses %d of %d", t.f.NodeName(s.Node), len(s.Lost), s.Neighbours)
		}
		words[len(words)-1] += ";"
		words = append(words, worst)
	}
	t.beside("rule    ", words)
	for _, i := range r.Broken[:min(fewBroken, len(r.Broken))] {
		s := &t.a.Switches[i]
		t.beside("        ", append([]string{fmt.Sprintf("%s loses %d of %d:", t.f.NodeName(s.Node), len(s.Lost), s.Neighbours)}, nodeNames(t.f, s.Lost)...))
	}
	if n := len(r.Broken) - fewBroken; n > 0 {
		t.line("        and %d more", n)
	}
}

func (t *whatIfText) switches() {
	if len(t.a.Switches) == 0 {
		return
	}
	t.line("\n    lost  links left  capacity left   switch, and who is behind it")
	for i := range t.a.Switches[:min(mostRows, len(t.a.Switches))] {
		s := &t.a.Switches[i]
		t.beside(fmt.Sprintf("%8s  %-10s  %-14s  ", lost(s.Capacity, s.CapacityLeft), fmt.Sprintf("%d of %d", s.LinksLeft, s.Links),
			t.amount(s.CapacityLeft)+" of "+t.amount(s.Capacity)), t.behind(s))
	}
	t.more(len(t.a.Switches))
}

// behind says whom the loss of a switch concerns.
func (t *whatIfText) behind(s *whatif.Switch) []string {
	words := []string{t.f.NodeName(s.Node)}
	if s.HostsLost > 0 {
		words = append(words, "lost "+plural(s.HostsLost, "link"), "to hosts")
	}
	if len(s.Hosts) == 0 {
		return words
	}
	words[len(words)-1] += ":"
	if s.Rail > 0 {
		words = append(words, fmt.Sprintf("rail %d of", s.Rail))
	}
	words = append(words, plural(len(s.Hosts), "host")+",", t.f.PortName(s.Hosts[0]))
	if n := len(s.Hosts); n > 1 {
		words = append(words, "to", t.f.PortName(s.Hosts[n-1]))
	}
	// What the hosts may send against what the switch can carry away.
	was, is := fmt.Sprintf("%.2f:1", s.HostCapacity/s.Capacity), fmt.Sprintf("%.2f:1", s.HostCapacity/s.CapacityLeft)
	if s.CapacityLeft > 0 && was != is {
		words[len(words)-1] += ","
		words = append(words, is+",", "was "+was)
	}
	return words
}

// hosts tells hosts that have lost equally named ports as one.
func (t *whatIfText) hosts() {
	type loss struct {
		whatif.Host
		ports string
		names []string
	}
	var losses []*loss
	cut := 0
	for _, h := range t.a.Hosts {
		if h.CutOff {
			cut++
		}
		var names []string
		for _, p := range h.Lost {
			names = append(names, t.f.Port(p).Name)
		}
		ports := strings.Join(names, " ")
		at := slices.IndexFunc(losses, func(l *loss) bool {
			return l.ports == ports && l.Left == h.Left && l.Links == h.Links && l.CutOff == h.CutOff
		})
		if at < 0 {
			at = len(losses)
			losses = append(losses, &loss{Host: h, ports: ports})
		}
		losses[at].names = append(losses[at].names, t.f.NodeName(h.Node))
	}
	if len(losses) == 0 {
		return
	}
	t.line("\nlinks left  hosts: %d, of these cut off: %s", len(t.a.Hosts), noneOr(cut))
	for _, l := range losses[:min(mostRows, len(losses))] {
		words := []string{l.names[0]}
		if n := len(l.names); n > 1 {
			words = []string{fmt.Sprintf("%d hosts,", n), l.names[0], "to", l.names[n-1]}
		}
		if l.ports != "" && l.Left > 0 {
			words[len(words)-1] += ","
			words = append(words, "without", l.ports)
		}
		if l.CutOff {
			words = append(words, "(cut off)")
		}
		t.beside(fmt.Sprintf("%-10s  ", fmt.Sprintf("%d of %d", l.Left, l.Links)), words)
	}
	t.more(len(losses))
}

func (t *whatIfText) pairs() {
	p := &t.a.Pairs
	words := []string{fmt.Sprintf("%d of switches,", p.All)}
	if p.Looked < p.All {
		words = append(words, fmt.Sprintf("%d looked at", p.Looked), fmt.Sprintf("(%d likely to lose most,", p.Near),
			fmt.Sprintf("%d drawn by seed %d;", p.Looked-p.Near, t.c.Seed), "--pairs takes more),")
	} else {
		words = append(words, "all looked at,")
	}
	words = append(words, fmt.Sprintf("%d of these", len(p.Hurt)), "lose something;", "cut off: "+noneOr(p.CutOff))
	if p.LeastDisjoint >= 0 {
		words[len(words)-1] += ";"
		words = append(words, "fewest disjoint paths left:", strconv.Itoa(p.LeastDisjoint))
	}
	if p.Gone > 0 {
		words[len(words)-1] += ";"
		words = append(words, fmt.Sprintf("%d more", p.Gone), "have an end", "that is gone")
	}
	t.WriteString("\n")
	t.beside("pairs   ", words)
	if len(p.Hurt) == 0 {
		return
	}
	mean := []string{
		fmt.Sprintf("%.3g %% of usable capacity,", 100*p.UsableLost), fmt.Sprintf("%.3g %% of flows at first", 100*p.BlackHoled),
	}
	if p.Looked < p.All {
		mean = append(mean, "(estimated for all)")
	}
	t.beside("lost    ", append([]string{"in the mean"}, mean...))
	t.line("\n  usable  left            disjoint    max-flow  at first  pair")
	for i := range p.Hurt[:min(mostRows, len(p.Hurt))] {
		x := &p.Hurt[i]
		t.line("%8s  %-14s  %-10s  %8s  %8s  %s > %s", lost(x.Usable, x.UsableLeft), t.amount(x.UsableLeft)+" of "+t.amount(x.Usable),
			fmt.Sprintf("%d of %d", x.DisjointLeft, x.Disjoint), lost(x.Capacity, x.CapacityLeft), short(-x.BlackHoled),
			t.f.NodeName(x.Src), t.f.NodeName(x.Dst))
	}
	t.more(len(p.Hurt))
}

func (t *whatIfText) load() {
	l := t.a.Load
	if l == nil {
		return
	}
	t.WriteString("\n")
	words := []string{l.Matrix + ":", t.amount(l.Offered), "between switches"}
	if l.Left < l.Offered {
		words = append(words, "before,", t.amount(l.Left), "after")
	}
	t.beside("load    ", words)
	t.line("            mean       p50       p95       p99       max  could grow to")
	for _, u := range []struct {
		when string
		whatif.Use
	}{{"before", l.Before}, {"after", l.After}} {
		bound := "-"
		if u.Bound > 0 {
			bound = fmt.Sprintf("%.4g times", u.Bound)
		}
		t.line("%-6s%10s%10s%10s%10s%10s  %s", u.when, t.full(u.Mean), t.full(u.P50), t.full(u.P95), t.full(u.P99), t.full(u.Max), bound)
	}
	if l.BlackHoled > 0 {
		t.line("at first, at most %.3g %% of the traffic is lost", 100*l.BlackHoled)
	}
	if l.After.Lost > 0 {
		t.line("%.3g %% of the traffic has no way, before %.3g %%", 100*l.After.Lost, 100*l.Before.Lost)
	}
	hot, heated := l.Hottest[:min(fewHot, len(l.Hottest))], l.Heated[:min(fewHot, len(l.Heated))]
	if slices.Equal(hot, heated) {
		t.arcs("hottest, and heat up most", hot)
		return
	}
	t.arcs("hottest", hot)
	t.arcs("heat up most", heated)
}

func (t *whatIfText) arcs(title string, arcs []whatif.ArcUse) {
	if len(arcs) == 0 {
		return
	}
	t.line("\n    after    before  %s", title)
	for _, x := range arcs {
		t.line("%9s %9s  %s", t.full(x.After), t.full(x.Before), t.f.ArcName(x.Arc))
	}
}

// amount writes a capacity or a rate with three digits.
func (t *whatIfText) amount(x float64) string {
	if t.a.SpeedKnown {
		for _, u := range []struct {
			name string
			size float64
		}{{"P", 1e15}, {"T", 1e12}, {"G", 1e9}, {"M", 1e6}, {"K", 1e3}} {
			if x >= 0.9995*u.size {
				return digits(x/u.size) + u.name
			}
		}
	}
	return digits(x)
}

// full writes how full an arc is: in percent, or as a bare number where no speed is known.
func (t *whatIfText) full(x float64) string {
	if !t.a.SpeedKnown {
		return digits(x)
	}
	return digits(100*x) + " %"
}

// digits writes a number with three digits that count, and no exponent.
func digits(x float64) string {
	decimals := 2
	switch {
	case x >= 99.95:
		return strconv.FormatFloat(x, 'f', 0, 64)
	case x >= 9.995:
		decimals = 1
	}
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(x, 'f', decimals, 64), "0"), ".")
}

// lost writes what share of something is lost, with a minus, or gained, with a plus.
func lost(before, after float64) string {
	if before == 0 {
		return short(0)
	}
	return short(after/before - 1)
}

// short writes a change as a percentage in 8 columns.
func short(change float64) string {
	switch {
	case change == 0:
		return "0 %"
	case change > -0.0005 && change < 0.0005:
		return fmt.Sprintf("%+.3f %%", 100*change)
	case change >= 10:
		return fmt.Sprintf("x %.0f", 1+change)
	}
	return fmt.Sprintf("%+.1f %%", 100*change)
}

func noneOr(n int) string {
	if n == 0 {
		return "none"
	}
	return strconv.Itoa(n)
}
