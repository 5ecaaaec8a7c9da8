package cli

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"whichlink/graphs"
	"whichlink/internal/evidence"
	"whichlink/probes/snmp"
)

// A pollResult is snmp poll's JSON; contract.
type pollResult struct {
	Agents []agentJSON `json:"agents"`
}

// An agentJSON is what one agent said.
type agentJSON struct {
	Target string `json:"target"`
	Name   string `json:"name"`
	// Node is the fabric's name for it.
	Node       string          `json:"node,omitempty"`
	UptimeS    *float64        `json:"uptime_s,omitempty"`
	Error      string          `json:"error"`
	Ports      []portJSON      `json:"ports"`
	Neighbours []neighbourJSON `json:"neighbours"`
	Requests   int             `json:"requests"`
	MS         float64         `json:"ms"`
}

// A portJSON is a port. In and Out are totals since the agent counts; Delta is what was counted in an interval.
type portJSON struct {
	IfIndex         uint32            `json:"ifindex"`
	Name            string            `json:"name"`
	Alias           string            `json:"alias"`
	Type            uint32            `json:"type"`
	Admin           string            `json:"admin"`
	Oper            string            `json:"oper"`
	Speed           uint64            `json:"speed"`
	LastChangeAgoMS *int64            `json:"last_change_ago_ms,omitempty"`
	In              evidence.Counters `json:"in"`
	Out             evidence.Counters `json:"out"`
	PFC             []pfcJSON         `json:"pfc,omitempty"`
	QueueDrops      []dropsJSON       `json:"queue_drops,omitempty"`
	Optics          []evidence.Lane   `json:"optics,omitempty"`
	Delta           *deltaJSON        `json:"delta,omitempty"`
}

type deltaJSON struct {
	IntervalMS int64             `json:"interval_ms"`
	Reset      bool              `json:"reset"`
	In         evidence.Counters `json:"in"`
	Out        evidence.Counters `json:"out"`
	PFC        []pfcJSON         `json:"pfc,omitempty"`
	QueueDrops []dropsJSON       `json:"queue_drops,omitempty"`
}

// A pfcJSON is of one priority, or of all together where it names none.
type pfcJSON struct {
	Priority *int   `json:"priority,omitempty"`
	Sent     uint64 `json:"sent"`
	Received uint64 `json:"received"`
}

type dropsJSON struct {
	Queue   int    `json:"queue"`
	Packets uint64 `json:"packets"`
}

type neighbourJSON struct {
	Port       string `json:"port"`
	Chassis    string `json:"chassis"`
	System     string `json:"system"`
	RemotePort string `json:"remote_port"`
}

// agentOf is the JSON of a reading, with what was counted since an earlier one if that is not nil.
func agentOf(r, before *snmp.Reading, node string) agentJSON {
	a := agentJSON{Target: graphs.Clean(r.Target), Name: r.Name, Node: node, Ports: []portJSON{}, Neighbours: []neighbourJSON{}, Requests: r.Requests,
		MS: float64(r.Took.Microseconds()) / 1000}
	if r.Err != nil {
		a.Error = graphs.Clean(r.Err.Error())
	}
	if r.Clock.Uptime != nil {
		s := float64(*r.Clock.Uptime) / 100
		a.UptimeS = &s
	}
	var deltas []snmp.Delta
	if before != nil {
		deltas = snmp.Between(before, r)
	}
	for i := range r.Ports {
		p := portOf(&r.Ports[i])
		if deltas != nil {
			d := &deltas[i]
			p.Delta = &deltaJSON{d.Elapsed.Milliseconds(), d.Reset, d.In, d.Out, pfcOf(d.PFC), dropsOf(d.Drops)}
		}
		a.Ports = append(a.Ports, p)
	}
	for _, n := range r.Neighbours {
		a.Neighbours = append(a.Neighbours, neighbourJSON{n.Port, n.Chassis, n.System, n.RemotePort})
	}
	return a
}

func portOf(q *snmp.Port) portJSON {
	p := portJSON{IfIndex: q.Index, Name: q.Name, Alias: q.Alias, Type: q.Type, Admin: q.Admin, Oper: q.Oper, Speed: q.Speed,
		PFC: pfcOf(q.PFC), QueueDrops: dropsOf(q.Drops), Optics: q.Optics}
	p.In, p.Out = q.Counts.Totals()
	if q.LastChange != nil {
		ms := q.LastChange.Milliseconds()
		p.LastChangeAgoMS = &ms
	}
	return p
}

func pfcOf(all []snmp.PFC) []pfcJSON {
	var out []pfcJSON
	for _, p := range all {
		j := pfcJSON{Sent: p.Sent, Received: p.Received}
		if p.Priority >= 0 {
			j.Priority = evidence.Int(p.Priority)
		}
		out = append(out, j)
	}
	return out
}

func dropsOf(all []snmp.QueueDrops) []dropsJSON {
	var out []dropsJSON
	for _, d := range all {
		out = append(out, dropsJSON(d))
	}
	return out
}

func (e *env) printPoll(r *pollResult, output string) error {
	if output == "json" {
		return printJSON(e.stdout, r)
	}
	for i := range r.Agents {
		if i > 0 && len(r.Agents[i-1].Ports)+len(r.Agents[i].Ports) > 0 {
			fmt.Fprintln(e.stdout)
		}
		if err := r.Agents[i].print(e.stdout); err != nil {
			return err
		}
	}
	return nil
}

// print writes an agent's ports as a table: with what they counted in the interval if there is one, else without counters, since totals mislead.
func (a *agentJSON) print(w io.Writer) error {
	if a.Error != "" && len(a.Ports) == 0 {
		_, err := fmt.Fprintf(w, "%s: %s\n", a.who(), a.reason())
		return err
	}
	up := 0
	for i := range a.Ports {
		if a.Ports[i].Oper == evidence.Up {
			up++
		}
	}
	fmt.Fprintf(w, "%s: %s, %d up; %s in %.0f ms", a.who(), plural(len(a.Ports), "port"), up,
		plural(a.Requests, "request"), a.MS)
	if a.UptimeS != nil {
		fmt.Fprintf(w, "; the agent runs for %s", time.Duration(*a.UptimeS*float64(time.Second)).Round(time.Second))
	}
	fmt.Fprintln(w)
	if lacks := a.lacks(); len(lacks) > 0 && up > 0 && a.Error == "" {
		fmt.Fprintf(w, "not served: %s\n", strings.Join(lacks, ", "))
	}
	if a.Error != "" {
		fmt.Fprintf(w, "error: %s\n", a.reason())
	}
	heard := map[string]string{}
	for _, n := range a.Neighbours {
		heard[n.Port] = strings.TrimSpace(cmp.Or(n.System, n.Chassis) + " " + n.RemotePort)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if len(a.Ports) > 0 {
		fmt.Fprintln(t, "PORT\tSTATE\tSPEED\tCHANGED\tLIGHT\tCOUNTED\tHEARS")
	}
	for i := range a.Ports {
		p := &a.Ports[i]
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", p.Name, p.state(), p.speed(), p.changed(), p.light(), p.Delta.text(), cmp.Or(heard[p.Name], "-"))
	}
	return t.Flush()
}

// who names an agent and where it is.
func (a *agentJSON) who() string {
	if name := cmp.Or(a.Node, a.Name, a.Target); name != a.Target {
		return fmt.Sprintf("%s (%s)", name, a.Target)
	}
	return a.Target
}

// reason is why an agent failed, without its name.
func (a *agentJSON) reason() string { return strings.TrimPrefix(a.Error, a.Target+": ") }

// lacks names what none of the agent's ports tells.
func (a *agentJSON) lacks() []string {
	var lacks []string
	for _, x := range []struct {
		what  string
		tells func(p *portJSON) bool
	}{
		{"discards", func(p *portJSON) bool { return p.Out.Discards != nil }},
		{"wrong checksums (FCS)", func(p *portJSON) bool { return p.In.FCS != nil }},
		{"pause frames", func(p *portJSON) bool { return p.In.Pause != nil || len(p.PFC) > 0 }},
		{"drops by queue", func(p *portJSON) bool { return len(p.QueueDrops) > 0 }},
		{"light of transceivers", func(p *portJSON) bool { return len(p.Optics) > 0 }},
	} {
		tells := false
		for i := range a.Ports {
			tells = tells || x.tells(&a.Ports[i])
		}
		if !tells {
			lacks = append(lacks, x.what)
		}
	}
	if len(a.Neighbours) == 0 {
		lacks = append(lacks, "neighbours")
	}
	return lacks
}

func (p *portJSON) state() string {
	if p.Admin == evidence.Down {
		return "off"
	}
	return cmp.Or(p.Oper, "?")
}

func (p *portJSON) speed() string {
	if p.Speed == 0 {
		return "-"
	}
	return bitsText(float64(p.Speed))
}

func (p *portJSON) changed() string {
	if p.LastChangeAgoMS == nil {
		return "-"
	}
	return (time.Duration(*p.LastChangeAgoMS) * time.Millisecond).Round(time.Second).String() + " ago"
}

// light tells the darkest lane's light: one bad lane is enough.
func (p *portJSON) light() string {
	var rx, tx *float64
	for i := range p.Optics {
		l := &p.Optics[i]
		if l.Rx != nil && (rx == nil || *l.Rx < *rx) {
			rx = l.Rx
		}
		if l.Tx != nil && (tx == nil || *l.Tx < *tx) {
			tx = l.Tx
		}
	}
	number := func(v *float64) string {
		if v == nil {
			return "?"
		}
		return fmt.Sprintf("%.1f", *v)
	}
	if rx == nil && tx == nil {
		return "-"
	}
	text := number(rx) + "/" + number(tx) + " dBm"
	for i := range p.Optics {
		l := &p.Optics[i]
		if words := beyond("receives", l.Rx, l.RxLimits) + beyond("sends", l.Tx, l.TxLimits); words != "" {
			return text + words // of one lane: the others stand in the JSON
		}
	}
	return text
}

// beyond says which limit the light of a lane is beyond.
func beyond(verb string, dbm *float64, limits *evidence.LightLimits) string {
	if dbm == nil {
		return ""
	}
	words, _, _ := limits.Beyond(*dbm)
	if words == "" {
		return ""
	}
	return ", " + verb + " " + words
}

// text tells what was counted: rates, and of all else what is not 0.
func (d *deltaJSON) text() string {
	switch {
	case d == nil:
		return "-"
	case d.Reset:
		return "began anew"
	}
	var parts []string
	seconds := float64(d.IntervalMS) / 1000
	for _, x := range []struct {
		what string
		c    *evidence.Counters
	}{{"in", &d.In}, {"out", &d.Out}} {
		if x.c.Octets != nil && seconds > 0 {
			parts = append(parts, x.what+" "+bitsText(8*float64(*x.c.Octets)/seconds))
		}
		for _, y := range []struct {
			what string
			n    *uint64
		}{{"errors", x.c.Errors}, {"discards", x.c.Discards}, {"FCS", x.c.FCS}, {"pause", x.c.Pause}} {
			if y.n != nil && *y.n > 0 {
				parts = append(parts, fmt.Sprintf("%s %s %d", x.what, y.what, *y.n))
			}
		}
	}
	for _, p := range d.PFC {
		if p.Sent+p.Received > 0 && p.Priority != nil {
			parts = append(parts, fmt.Sprintf("PFC %d sent %d received %d", *p.Priority, p.Sent, p.Received))
		}
	}
	for _, q := range d.QueueDrops {
		if q.Packets > 0 {
			parts = append(parts, fmt.Sprintf("queue %d dropped %d", q.Queue, q.Packets))
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "nothing")
}

// bitsText writes bit/s with a prefix.
func bitsText(n float64) string {
	for _, u := range []struct {
		of   float64
		text string
	}{{1e12, "Tbit/s"}, {1e9, "Gbit/s"}, {1e6, "Mbit/s"}, {1e3, "kbit/s"}} {
		if n >= u.of {
			return fmt.Sprintf("%.4g %s", n/u.of, u.text)
		}
	}
	return fmt.Sprintf("%.0f bit/s", n)
}
