package tui

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"

	"whichlink/graphs"
	"whichlink/graphs/generate"
)

// A masking test makes stages on which names are masked from the beginning.
type masking struct{ testing.TB }

var (
	dotted  = regexp.MustCompile(`\d+\.\d+\.\d+\.\d+`)
	coloned = regexp.MustCompile(`[0-9a-f]+(:[0-9a-f]*){3,}`)
)

// leaks returns the names and addresses of a fabric, and the addresses that are no pseudonyms, which stand in a text.
func leaks(f *graphs.Fabric, others []string, text string) []string {
	var out []string
	words := map[string]bool{}
	for _, w := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \n|│>?*,;()'\"[]=", r) }) {
		for _, part := range append(strings.Split(w, "--"), strings.FieldsFunc(w, func(r rune) bool { return r == ':' || r == '.' })...) {
			words[part], words[strings.SplitN(part, ":", 2)[0]] = true, true
		}
	}
	for n := range graphs.NodeID(f.NumNodes()) {
		if words[f.NodeName(n)] {
			out = append(out, f.NodeName(n))
		}
	}
	for p := range graphs.PortID(f.NumPorts()) {
		if name := f.Port(p).Name; words[name] && lettered(name) && len(name) > 1 {
			out = append(out, f.PortName(p))
		}
	}
	for _, x := range others {
		if strings.Contains(text, x) {
			out = append(out, x)
		}
	}
	for _, a := range dotted.FindAllString(text, -1) {
		if !strings.HasPrefix(a, "198.18.") {
			out = append(out, a)
		}
	}
	for _, a := range coloned.FindAllString(text, -1) {
		if x, err := netip.ParseAddr(a); err == nil && !strings.HasPrefix(x.String(), "2001:db8:") {
			out = append(out, a)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// While names are masked none of the fabric's stands on any screen, whichever it is, whether they were masked before or after it was opened, nor in what is copied.
func TestMaskHidesNames(t *testing.T) {
	typed := map[string]bool{"Command": true, "Break": true, "LinksFiltered": true, "Masked": true} // somebody types names, or presses the key
	for name, scene := range scenes() {
		if typed[name] {
			continue
		}
		for _, size := range [][2]int{{40, 10}, {100, 30}, {200, 60}} {
			bareStage := scene(t, size[0], size[1])
			f := bareStage.taken.Fabric
			secrets := []string{"ls4x4", " ana", "h1-1.pcap", "h1-1.jsonl", f.Name() + " "}
			if name == "Overview" && len(leaks(f, secrets, bare(bareStage.View().Content))) == 0 {
				t.Fatal("nothing to hide: the test sees no names")
			}
			s := scene(masking{t}, size[0], size[1])
			see := func(when string, text string) {
				if !strings.Contains(text, "MASKED") && when != "copied" {
					t.Errorf("%s %v, %s: the header does not say so", name, size, when)
				}
				if got := leaks(f, secrets, text); len(got) > 0 {
					t.Errorf("%s %v, %s: shows %q\n%s", name, size, when, got, text)
				}
			}
			see("masked before", bare(s.View().Content))
			if s.press("esc", "esc", "esc"); size[0] < 200 {
				continue
			}
			for _, screen := range []string{"1", "2", "H", "+", "+", "3", "w", "4", "5", "6", "7", "R"} {
				s.press(screen)
				see("then "+screen, bare(s.View().Content))
			}
			if bareStage.dialog == nil && bareStage.help == nil {
				bareStage.press("A")
				see("masked after", bare(bareStage.View().Content))
				for _, key := range []string{"y", "x"} {
					if cmd := bareStage.press(key); cmd != nil {
						see("copied", fmt.Sprint(cmd()))
					}
				}
				bareStage.press("A")
				if got := bare(bareStage.View().Content); strings.Contains(got, "MASKED") {
					t.Errorf("%s: still masked", name)
				}
			}
		}
	}
}

// Screens stay where they are when names are masked and shown again, and the pseudonyms of a session are the same.
func TestMaskKeepsItsPlace(t *testing.T) {
	for name, scene := range scenes() {
		s := scene(t, 200, 60)
		if s.dialog != nil || s.help != nil || s.prompt != nil || name == "LinksFiltered" || name == "Frozen" {
			continue
		}
		s.message = ""
		was := bare(s.View().Content)
		s.press("A")
		masked := bare(s.View().Content)
		s.press("A")
		s.message = ""
		if got := bare(s.View().Content); got != was {
			t.Errorf("%s: after masking and back\n%s\nwas\n%s", name, got, was)
		}
		s.press("A")
		if got := bare(s.View().Content); got != masked {
			t.Errorf("%s: masked again\n%s\nwas\n%s", name, got, masked)
		}
	}
}

// What somebody asks for in pseudonyms is done on what they mean; what is recorded has its names.
func TestMaskIsUndoneBehindTheScreens(t *testing.T) {
	s := newStage(masking{t}, sick(t), 100, 30)
	l := &lookout{}
	s.prober = l
	var noted string
	s.remark = func(text string) error { noted = text; return nil }
	as := s.mask.name
	do := func(text string) { s.press(":"); s.Update(keyPaste(text)); s.deliver(s.press("enter")) }
	s.deliver(s.press("P"))
	s.press("esc")
	do("trace " + as("h1-1") + " " + as("h3-2"))
	s.press("esc")
	do("answer " + as(sickLink))
	do("remark cable of " + as("leaf1:swp3") + " at " + as("10.32.0.1") + " swapped")
	s.press("b", "tab")
	s.Update(keyPaste(as(sickArc)))
	s.press("enter", "enter")
	s.press("b", "tab")
	s.Update(keyPaste(as(sickArc)))
	s.press("enter")
	_, cmd := s.Update(keyOf("enter"))
	s.deliver(cmd)
	got := fmt.Sprint(l.asked, s.drill.answers, noted, s.drill.orders)
	want := fmt.Sprint([]Inquiry{{Kind: Harder, Of: sickArc}, {Kind: Trace, Src: "h1-1", Dst: "h3-2"}}, []string{sickLink}, "cable of leaf1:swp3 at 10.32.0.1 swapped",
		[]Order{{"loss", []string{sickArc}, map[string]string{"rate": "5%"}}})
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if x := leaks(s.taken.Fabric, nil, bare(s.View().Content)); len(x) > 0 {
		t.Errorf("shows %q", x)
	}
	do("goto " + as("leaf2"))
	s.sees(t, as("leaf2")+":")
	s.press("1", "6", "w")
	s.hides(t, "Run this?")
}

// On a large fabric pseudonyms are made beside the screens, and are there at once the second time.
func TestMaskOfLargeFabric(t *testing.T) {
	s := newStage(t, on(t, leafSpine(t, "large", 60, 40, 0), 7), 100, 30)
	cmd := s.press("A")
	s.hides(t, "MASKED")
	s.Update(cmd())
	s.sees(t, "MASKED")
	first := bare(s.View().Content)
	if got := leaks(s.taken.Fabric, nil, first); len(got) > 0 {
		t.Errorf("shows %q", got)
	}
	if s.press("A", "A") != nil || bare(s.View().Content) != first {
		t.Error("other pseudonyms the second time")
	}
}

// Lines hide what screens do.
func TestMaskPlain(t *testing.T) {
	for name, x := range map[string]*Snapshot{"clos": sick(t), "random": randomGraph(t)} {
		x.Live = false
		var out bytes.Buffer
		if err := RunPlain(context.Background(), Config{Source: &fixed{x}, Output: &out, Mask: true}); err != nil {
			t.Fatal(err)
		}
		if got := leaks(x.Fabric, []string{x.Fabric.Name() + " "}, out.String()); len(got) > 0 || !strings.Contains(out.String(), "suspect 1: arc ") {
			t.Errorf("%s: shows %q\n%s", name, got, out.String())
		}
	}
}

// A fabric whose names try what the mask does: names within names, domains, capitals, numbers, pseudonyms of others, addresses of the pseudonyms.
func TestMaskText(t *testing.T) {
	b := graphs.Builder{Name: "acme-prod"}
	node := func(name string, role graphs.Role, addresses ...string) graphs.NodeID {
		n := graphs.Node{Name: name, Role: role}
		for _, a := range addresses {
			n.Loopback = append(n.Loopback, netip.MustParseAddr(a))
		}
		id, err := b.AddNode(n)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	a := node("Leaf-01.acme.example", "leaf", "198.18.0.1", "fe80::1")
	c := node("leaf-012", "leaf", "198.18.0.2", "fd00:a:b::7", "fe80::1")
	d := node("12", "acme-tor", "10.0.0.12")
	for i, ends := range [][2]graphs.NodeID{{a, c}, {c, d}, {a, d}} {
		port := fmt.Sprint([]string{"Ethernet1/", "p0", ""}[i], i+1)
		if _, err := b.AddLink(graphs.End{Node: ends[0], Port: port}, graphs.End{Node: ends[1], Port: port}, 0, "acme-duct 7"); err != nil {
			t.Fatal(err)
		}
	}
	f, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	m := newMask(1)
	if err := m.learn(f); err != nil {
		t.Fatal(err)
	}
	to := m.hide.to
	for p := range graphs.PortID(f.NumPorts()) {
		if f.Port(p).Node != to.Port(p).Node || f.Port(p).Link != to.Port(p).Link {
			t.Fatalf("port %d is another", p)
		}
	}
	as := func(n graphs.NodeID) string { return to.NodeName(n) }
	for _, x := range [][2]string{
		{"LEAF-01.ACME.EXAMPLE hears leaf-01, not leaf-012", as(a) + " hears " + as(a) + ", not " + as(c)},
		{"leaf-0123 is nobody", "leaf-0123 is nobody"},
		{"Leaf-01.acme.example:Ethernet1/1 is dirty", to.PortName(0) + " is dirty"},
		{"12 of 12 flows at 12:02:03.120 by 12:p02", "12 of 12 flows at 12:02:03.120 by " + to.PortName(3)},
		{"acme-duct 7 in acme-prod", to.Group(0).Name + " in fabric"},
		{"fd00:a:b::7 to [fd00:a:b::7]:862", m.address(netip.MustParseAddr("fd00:a:b::7")).String() + " to [" + m.address(netip.MustParseAddr("fd00:a:b::7")).String() + "]:862"},
		{"10.0.0.12:5001>224.0.0.5:1", m.address(netip.MustParseAddr("10.0.0.12")).String() + ":5001>224.0.0.5:1"},
		{"00:1c:73:aa:10:0c by 001c.73aa.100c to 01:80:c2:00:00:00", "02:00:5e:00:00:01 by 02:00:5e:00:00:01 to 01:80:c2:00:00:00"},
		{"14:32:06.204Z, 1.5 ms, v1.2.3", "14:32:06.204Z, 1.5 ms, v1.2.3"},
	} {
		got := m.text(x[0])
		if got != x[1] {
			t.Errorf("%q is masked to\n%q, want\n%q", x[0], got, x[1])
		}
		if again := m.text(got); again != got {
			t.Errorf("%q masked again is %q", got, again)
		}
	}
	for _, own := range []string{"198.18.0.1", "198.18.0.2"} {
		if x := m.address(netip.MustParseAddr(own)).String(); x == "198.18.0.1" || x == "198.18.0.2" {
			t.Errorf("%s is hidden behind %s, which is somebody's", own, x)
		}
	}
	for l := range graphs.LinkID(f.NumLinks()) {
		for _, name := range []string{f.LinkName(l), f.ArcName(l.Forward()), f.ArcName(l.Backward())} {
			if got := m.real(m.name(name)); got != name {
				t.Errorf("%s is unmasked to %s", name, got)
			}
		}
	}
	for n := range graphs.NodeID(f.NumNodes()) {
		if m.name(f.NodeName(n)) != as(n) || strings.Contains(as(n), "acme") || strings.Contains(string(to.Node(n).Role), "acme") {
			t.Errorf("%s is %s", f.NodeName(n), as(n))
		}
	}
	if got := []string{m.source("ana"), m.source("/home/ana/x.pcap"), m.source("ana"), m.source("12")}; fmt.Sprint(got) != fmt.Sprint([]string{"source-01", "file-02.pcap", "source-01", as(d)}) {
		t.Errorf("sources are %q", got)
	}
}

// Whatever is written, masking it ends, and what is masked stays as it is.
func FuzzMaskText(f *testing.F) {
	for _, x := range []string{"leaf1:swp3--spine3:swp1", "10.32.0.1:50000>10.32.2.1:862", "::", "fe80::1%eth0", "leaf1:", ":::1:2:3", "1:::0", "00 01::X0", "10.10.0X0::2", "fe80::.0X", "::.0X.0", "LEAF1\xff", "00:1c:73:aa:10:0c"} {
		f.Add(x)
	}
	m := newMask(3)
	if err := m.learn(leafSpine(f, "fuzz", 3, 2, 1)); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := m.text(text)
		if again := m.text(got); again != got {
			t.Errorf("%q is masked to %q, and then to %q", text, got, again)
		}
	})
}

// Masking costs once a fabric, and little a snapshot.
func BenchmarkMask(b *testing.B) {
	f, err := generate.RandomRegular(generate.RandomRegularConfig{Switches: 2000, Degree: 58, Hosts: 1, Seed: 3})
	if err != nil {
		b.Fatal(err)
	}
	s := many(on(b, f, graphs.LinkID(f.NumLinks()-9)))
	b.Run("learn", func(b *testing.B) {
		inTime(b, func() {
			if err := newMask(1).learn(f); err != nil {
				b.Fatal(err)
			}
		})
	})
	b.Run("snapshot", func(b *testing.B) {
		m := newMask(1)
		inTime(b, func() {
			d, p := *s.Diagnosis, *s.Picture
			p.Diagnosis = &d
			c := *s
			c.Diagnosis, c.Picture = &d, &p
			m.snapshot(&c)
		})
	})
}
