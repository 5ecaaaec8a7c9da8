package tui

import (
	"context"
	"fmt"
	"net/netip"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"whichlink/graphs"
	"whichlink/internal/diagnose"
	"whichlink/internal/evidence"
)

// noon is the moment of every fixture.
var noon = time.Date(2026, 11, 20, 14, 32, 7, 0, time.UTC)

// leafSpine builds a fabric of leaves x spines switches with hosts hosts a leaf.
func leafSpine(tb testing.TB, name string, leaves, spines, hosts int) *graphs.Fabric {
	tb.Helper()
	b := graphs.Builder{Name: name}
	node := func(name string, role graphs.Role, addresses ...netip.Addr) graphs.NodeID {
		n, err := b.AddNode(graphs.Node{Name: name, Role: role, Loopback: addresses})
		if err != nil {
			tb.Fatal(err)
		}
		return n
	}
	link := func(a, z graphs.End, speed graphs.BitsPerSecond) {
		if _, err := b.AddLink(a, z, speed); err != nil {
			tb.Fatal(err)
		}
	}
	port := func(n graphs.NodeID, p int) graphs.End { return graphs.End{Node: n, Port: fmt.Sprintf("swp%d", p)} }
	var tops []graphs.NodeID
	for s := range spines {
		tops = append(tops, node(fmt.Sprintf("spine%d", s+1), "spine"))
	}
	for l := range leaves {
		leaf := node(fmt.Sprintf("leaf%d", l+1), "leaf")
		for s, top := range tops {
			link(port(leaf, s+1), port(top, l+1), 100e9)
		}
		for h := range hosts {
			host := node(fmt.Sprintf("h%d-%d", l+1, h+1), graphs.RoleHost, netip.AddrFrom4([4]byte{10, 32, byte(l), byte(h + 1)}))
			link(graphs.End{Node: host, Port: "eth1"}, port(leaf, spines+h+1), 25e9)
		}
	}
	f, err := b.Build()
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

const (
	sickArc  = "leaf1:swp3>spine3:swp1"
	sickLink = "leaf1:swp3--spine3:swp1"
)

func ptr(v float64) *float64 { return &v }

// sick is the snapshot from which most goldens are drawn: a drill with one lossy arc, well proven, and lesser suspects.
func sick(tb testing.TB) *Snapshot {
	f := leafSpine(tb, "ls4x4", 4, 4, 2)
	d := &diagnose.Diagnosis{
		Fabric: f.Name(), From: noon.Add(-65 * time.Second), To: noon.Add(-time.Second), Verdict: diagnose.Suspects,
		Summary:  sickArc + " drops 5.1 % of packets (p 0.99)",
		Coverage: diagnose.Coverage{Arcs: 48, Measured: 46, Unmeasured: []string{"leaf4:swp4>spine4:swp4", "spine4:swp4>leaf4:swp4"}},
		Suspects: []diagnose.Suspect{
			{Rank: 1, Kind: "arc", ID: sickArc, Link: sickLink, Symptom: diagnose.Loss, Probability: 0.994,
				Class: []string{sickArc}, Loss: ptr(0.051), LossLow: ptr(0.043), LossHigh: ptr(0.060),
				For: "41 of 43 flows that cross it lose packets; of 212 that do not, 1 does", Against: "2 flows cross it clean: h1-1 to h3-2, ports 50011 and 50094",
				Evidence: []diagnose.Evidence{
					{Source: "probe", Text: "reflectors counted 402 of 7,881 probes missing on the way out, none of the answers"},
					{Source: "probe", Text: "last lost 14:32:06.204Z, h1-2 to h4-1, port 50017"},
				},
				Next: []diagnose.Step{
					{Why: "tell which end: read the error counters of both ports", Do: "whichlink snmp poll --target leaf1 --target spine3"},
					{Why: "take traffic off while it is mended: drain leaf1:swp3; 3 of 4 uplinks stay"}}},
			{Rank: 2, Kind: "arc", ID: "leaf3:swp2>spine2:swp3", Link: "leaf3:swp2--spine2:swp3", Symptom: diagnose.Loss, Probability: 0.62,
				Class: []string{"leaf3:swp2>spine2:swp3", "spine2:swp3>leaf3:swp2"}, Loss: ptr(0.0042), LossLow: ptr(0.0011), LossHigh: ptr(0.0093),
				For: "6 of 40 flows that cross it lose packets", Against: "34 flows cross it clean",
				Evidence: []diagnose.Evidence{{Source: "probe", Text: "17 of 8,004 probes lost; which way is not known without a reflector"}},
				Next:     []diagnose.Step{{Why: "split the two directions", Do: "whichlink probe --from h3-1 --for 10s"}}},
			{Rank: 3, Kind: "node", ID: "spine4", Symptom: diagnose.Slow, Probability: 0.17, Class: []string{"spine4"},
				For: "median delay through it is 31 us above its siblings", Against: "no queue was seen to build", Evidence: []diagnose.Evidence{{Source: "snmp", Text: "no discards"}}},
			{Rank: 4, Kind: "arc", ID: "spine1:swp2>leaf2:swp1", Link: "leaf2:swp1--spine1:swp2", Symptom: diagnose.Corruption, Probability: 0.06,
				Class: []string{"spine1:swp2>leaf2:swp1"}, For: "1 payload arrived changed"},
		},
		Cleared: []diagnose.Cleared{{ID: "spine2", Why: "answers few TTL-expired probes (rate limit), yet traffic through it arrives"}},
		Notes:   []string{"2 arcs lead to no host that probes; a prober on h4-2 would cover them"},
	}
	for l := range 4 {
		d.Sources = append(d.Sources, diagnose.Source{By: fmt.Sprintf("h%d-1", l+1), Source: "probe", Records: 412 - 7*l, Newest: noon.Add(-time.Second)})
	}
	d.Sources = append(d.Sources, diagnose.Source{By: "spine2", Source: "snmp", Records: 12, Newest: noon.Add(-127 * time.Second)})
	tape := NewTape(f, 0)
	record(f, tape)
	return pictured(&Snapshot{Diagnosis: d, Fabric: f, Now: noon, Live: true, Status: "drill", Rate: 4000, History: tape.History(),
		Faults: []Fault{{ID: "1", Text: "loss on " + sickArc + ", rate 5%"}}})
}

// record puts a minute of echoes on the tape, with a gap of eight seconds: flows from leaf1 over every spine to leaf3.
func record(f *graphs.Fabric, t *Tape) {
	for second := range 64 {
		if second >= 20 && second < 28 {
			continue
		}
		at := noon.Add(time.Duration(second-64) * time.Second)
		for flow := range 12 {
			spine := flow%4 + 1
			lost := 0
			if spine == 3 && (second*7+flow*5)%11 < 4 && flow != 10 {
				lost = 1 + (second*flow)%3
			}
			median := 71 + float64((second*13+flow*7)%9)
			if second > 50 {
				median += 40
			}
			r := evidence.Record{
				Time: at, Source: evidence.SourceProbe, By: "h1-1", Kind: evidence.KindEcho, WindowMS: 1000,
				Flow: &evidence.Flow{Src: netip.MustParseAddr("10.32.0.1"), Dst: netip.MustParseAddr("10.32.2.1"), Proto: "udp", SrcPort: uint16(50000 + flow), DstPort: 862},
				Path: []string{"h1-1:eth1>leaf1:swp5", fmt.Sprintf("leaf1:swp%d>spine%d:swp1", spine, spine),
					fmt.Sprintf("spine%d:swp3>leaf3:swp%d", spine, spine), "leaf3:swp5>h3-1:eth1"},
				Back: []string{"h3-1:eth1>leaf3:swp5", fmt.Sprintf("leaf3:swp%d>spine%d:swp3", (spine+1)%4+1, (spine+1)%4+1),
					fmt.Sprintf("spine%d:swp1>leaf1:swp%d", (spine+1)%4+1, (spine+1)%4+1), "leaf1:swp5>h1-1:eth1"},
				Sent: evidence.Int(20), Lost: evidence.Int(lost), LostForward: evidence.Int(lost), LostBack: evidence.Int(0),
				RTT: &evidence.Delay{P50: median},
			}
			t.Add(&r)
		}
	}
}

// well is a healthy fabric, all of it measured.
func well(tb testing.TB) *Snapshot {
	s := sick(tb)
	d := *s.Diagnosis
	d.Verdict, d.Summary = diagnose.Healthy, "nothing found on 48 of 48 arcs; losses above 0.05 % would have been seen"
	d.Coverage = diagnose.Coverage{Arcs: 48, Measured: 48}
	d.Suspects, d.Cleared, d.Notes = nil, nil, nil
	d.Sources = d.Sources[:4]
	s.Diagnosis, s.Faults = &d, nil
	return pictured(s)
}

// thin is a replay with too little evidence.
func thin(tb testing.TB) *Snapshot {
	s := sick(tb)
	d := *s.Diagnosis
	d.Verdict, d.Summary = diagnose.Inconclusive, "9 of 48 arcs measured, and no flow often enough to tell loss from chance"
	d.Coverage = diagnose.Coverage{Arcs: 48, Measured: 9}
	for l := range s.Fabric.NumLinks() {
		if n := s.Fabric.ArcName(graphs.LinkID(l).Forward()); len(d.Coverage.Unmeasured) < 39 {
			d.Coverage.Unmeasured = append(d.Coverage.Unmeasured, n, s.Fabric.ArcName(graphs.LinkID(l).Backward()))
		}
	}
	d.Coverage.Unmeasured = d.Coverage.Unmeasured[:39]
	d.Suspects, d.Cleared = nil, nil
	d.Sources = d.Sources[:1]
	d.Notes = []string{"only h1-1 probed: run whichlink probe on the other hosts too, at the same time"}
	s.Diagnosis, s.Faults, s.Live, s.Status = &d, nil, false, "h1-1.jsonl"
	return pictured(s)
}

// A fixed source hands out whatever snapshot it holds.
type fixed struct{ s *Snapshot }

func (f *fixed) Snapshot() *Snapshot { return f.s }

// A practice trainer notes what it is told.
type practice struct {
	orders  []Order
	healed  []string
	answers []string
	err     error
}

func (*practice) Kinds() []FaultKind {
	rate := []Option{{Name: "rate", Default: "5%"}}
	return []FaultKind{
		{Name: "loss", Does: "drops a share of the packets, one way", Targets: []TargetKind{TargetArc}, Options: rate},
		{Name: "silent", Does: "swallows everything, while routes stay", Targets: []TargetKind{TargetLink}},
		{Name: "flap", Does: "goes down and up", Targets: []TargetKind{TargetLink}, Options: []Option{{"period", "4s"}, {"down", "1s"}}},
		{Name: "down", Does: "goes down; routes are withdrawn", Targets: []TargetKind{TargetLink}},
		{Name: "node", Does: "a whole switch drops a share", Targets: []TargetKind{TargetSwitch}, Options: []Option{{"rate", "1%"}}},
		{Name: "police", Does: "a trap: the switch answers few probes, and nothing is wrong", Targets: []TargetKind{TargetSwitch}},
		{Name: "miswire", Does: "swaps two cables", Targets: []TargetKind{TargetLink, TargetLink}},
	}
}

func (p *practice) Break(_ context.Context, o Order) error {
	p.orders = append(p.orders, o)
	return p.err
}

func (p *practice) Heal(_ context.Context, id string) error {
	p.healed = append(p.healed, id)
	return p.err
}

func (p *practice) Answer(name string) (string, error) {
	p.answers = append(p.answers, name)
	return "wrong: it is not " + name, p.err
}

// A stage is an App with what a test needs at hand.
type stage struct {
	*App
	source *fixed
	drill  *practice
}

func newStage(tb testing.TB, s *Snapshot, w, h int) *stage {
	tb.Helper()
	src, drill := &fixed{s}, &practice{}
	a := NewApp(context.Background(), Config{Source: src, Trainer: drill, Remark: func(string) error { return nil }})
	a.unworn = newMask(7)
	if _, ok := tb.(masking); ok {
		a.press(keyOf("A"))
	}
	a.Update(tea.WindowSizeMsg{Width: w, Height: h})
	return &stage{a, src, drill}
}

// press sends keys by name: letters, or what tea calls them. It returns the last command.
func (s *stage) press(names ...string) tea.Cmd {
	var cmd tea.Cmd
	for _, n := range names {
		_, cmd = s.Update(keyOf(n))
	}
	return cmd
}

func keyOf(name string) tea.KeyPressMsg {
	special := map[string]tea.KeyPressMsg{
		"enter": {Code: tea.KeyEnter}, "esc": {Code: tea.KeyEscape}, "tab": {Code: tea.KeyTab}, "shift+tab": {Code: tea.KeyTab, Mod: tea.ModShift},
		"up": {Code: tea.KeyUp}, "down": {Code: tea.KeyDown}, "left": {Code: tea.KeyLeft}, "right": {Code: tea.KeyRight},
		"backspace": {Code: tea.KeyBackspace}, "space": {Code: tea.KeySpace, Text: " "}, "home": {Code: tea.KeyHome}, "end": {Code: tea.KeyEnd},
		"ctrl+c": {Code: 'c', Mod: tea.ModCtrl}, "ctrl+d": {Code: 'd', Mod: tea.ModCtrl}, "ctrl+u": {Code: 'u', Mod: tea.ModCtrl}, "ctrl+l": {Code: 'l', Mod: tea.ModCtrl}, "ctrl+w": {Code: 'w', Mod: tea.ModCtrl},
		"pgdown": {Code: tea.KeyPgDown},
	}
	if msg, ok := special[name]; ok {
		return msg
	}
	return tea.KeyPressMsg{Code: []rune(name)[0], Text: name}
}

// word types a text letter by letter.
func (s *stage) word(text string) {
	for _, r := range text {
		n := string(r)
		if n == " " {
			n = "space"
		}
		s.press(n)
	}
}

func (s *stage) tick(n int) {
	for range n {
		s.Update(tickMsg{})
	}
}

func keyPaste(text string) tea.PasteMsg { return tea.PasteMsg{Content: text} }
