package diagnose

import (
	"slices"
	"strings"
	"testing"
	"time"

	"whichlink/graphs"
	"whichlink/graphs/generate"
	"whichlink/internal/evidence"
)

// rebuilt is a fabric with the links that are kept, the shared-risk groups that are named, and a second uplink of each host to the switch after its own.
func rebuilt(t *testing.T, f *graphs.Fabric, kept func(l graphs.LinkID) bool, group func(l graphs.LinkID) []string, two bool) *graphs.Fabric {
	t.Helper()
	var b graphs.Builder
	for n := range graphs.NodeID(f.NumNodes()) {
		if _, err := b.AddNode(*f.Node(n)); err != nil {
			t.Fatal(err)
		}
	}
	end := func(p graphs.PortID) graphs.End {
		return graphs.End{Node: f.Port(p).Node, Port: f.Port(p).Name, Prefixes: f.Port(p).Prefixes}
	}
	add := func(x, y graphs.End, groups ...string) {
		if _, err := b.AddLink(x, y, 0, groups...); err != nil {
			t.Fatal(err)
		}
	}
	for l := range graphs.LinkID(f.NumLinks()) {
		if e := f.Link(l).Ends; kept(l) {
			add(end(e[0]), end(e[1]), group(l)...)
		}
	}
	for i, h := range f.Hosts() {
		if two {
			add(graphs.End{Node: h, Port: "second"}, graphs.End{Node: f.Switches()[(i+1)%len(f.Switches())], Port: "to-" + f.NodeName(h)})
		}
	}
	out, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func all(graphs.LinkID) bool           { return true }
func ungrouped(graphs.LinkID) []string { return nil }

// Links of one shared-risk group that routing goes around are one fault, not three; also where ports say of one that it is down, and nothing of the others yet.
func TestWholeGroupIsGone(t *testing.T) {
	plain, err := generate.RandomRegular(generate.RandomRegularConfig{Switches: 10, Degree: 4, Hosts: 1, Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	in := []graphs.LinkID{2, 9, 14}
	for _, c := range []struct {
		name  string
		part  int
		ports map[graphs.LinkID]string // what is read at one of them
		want  string
	}{
		{"all of it", 3, nil, "group down "},
		{"part of it", 2, nil, "link down link down "},
		{"one port is down", 3, map[graphs.LinkID]string{9: evidence.Down}, "group down "},
		{"one port is down, one up", 3, map[graphs.LinkID]string{9: evidence.Down, 2: evidence.Up}, "link down link down link down "},
	} {
		plan := rebuilt(t, plain, all, func(l graphs.LinkID) []string {
			if slices.Contains(in, l) {
				return []string{"box-1"}
			}
			return nil
		}, false)
		x := tracingOf(plan, 1)
		x.run(rebuilt(t, plan, func(l graphs.LinkID) bool { return !slices.Contains(in[:c.part], l) }, ungrouped, false), 200, 5, 0, nil)
		for l, oper := range c.ports {
			port := plan.PortName(plan.Link(l).Ends[0])
			by, _, _ := strings.Cut(port, ":")
			x.store.Add(&evidence.Record{V: 1, Time: x.start.Add(9 * time.Second), Source: evidence.SourceSNMP, By: by, Kind: evidence.KindCounters,
				PortState: evidence.PortState{Port: port, IntervalMS: 5000, Oper: oper, Admin: evidence.Up}})
		}
		d := x.store.Diagnose()
		named := ""
		for _, y := range d.Suspects {
			if y.Probability >= Named {
				named += y.Kind + " " + string(y.Symptom) + " "
			}
		}
		if named != c.want {
			t.Errorf("%s: %q, expected %q\n%s", c.name, named, c.want, d.Text())
		}
	}
}

// An uplink that no flow takes, of a host that is reached by its other one, may be down: that was passed over.
func TestUnusedUplink(t *testing.T) {
	plain, err := generate.RandomRegular(generate.RandomRegularConfig{Switches: 8, Degree: 3, Hosts: 1, Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	plan := rebuilt(t, plain, all, ungrouped, true)
	h := plan.Hosts()[3]
	down := plan.Out(h)[0].Link()
	x := tracingOf(plan, 1)
	x.run(rebuilt(t, plan, func(l graphs.LinkID) bool { return l != down }, ungrouped, false), 200, 3, 0, nil)
	want := "no flow takes " + plan.LinkName(down) + ", though the host is reached by its other uplinks"
	if d := x.store.Diagnose(); !strings.Contains(strings.Join(d.Notes, "\n"), want) {
		t.Errorf("notes lack %q\n%s", want, d.Text())
	}
}

// TestShared: links of one shared-risk group that lose each at a rate of its own are named each, and told to have that in common.
func TestShared(t *testing.T) {
	plain, err := generate.RandomRegular(generate.RandomRegularConfig{Switches: 10, Degree: 4, Hosts: 1, Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	loss := map[graphs.LinkID]float64{2: 0.6, 9: 0.25, 14: 0.05}
	for _, size := range []int{3, 6} {
		p := newPlayOn(rebuilt(t, plain, all, func(l graphs.LinkID) []string {
			if loss[l] > 0 || size == 6 && l >= 3 && l <= 5 {
				return []string{"cable-1"}
			}
			return nil
		}, false), 400)
		p.run(20, func(a graphs.ArcID, _ int) float64 { return loss[a.Link()] })
		d := p.store.Diagnose()
		named, told := 0, 0
		for _, x := range d.Suspects {
			if x.Probability >= Named {
				named++
				told += int(is(slices.ContainsFunc(x.Next, func(s Step) bool { return s.Do == "inspect cable-1" })))
			}
		}
		if named != len(loss) || told != named && size == len(loss) || told > 0 && size > len(loss) {
			t.Errorf("of %d links: %d are named, %d with their cable\n%s", size, named, told, d.Text())
		}
	}
}
