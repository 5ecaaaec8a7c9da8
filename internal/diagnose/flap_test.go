package diagnose_test

import (
	"compress/gzip"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"whichlink/graphs"
	"whichlink/graphs/generate"
	"whichlink/internal/diagnose"
	"whichlink/internal/evidence"
	"whichlink/pathfind"
)

// TestFlapAmongReroutes reads what the probes of a lab told (testdata/flap.jsonl.gz: fat-tree k=4 at 20,000 packets/s, a link down at two moments; answers of switches left out). Flows that
// went around it lost packets at the same switch, which then looks worse than its link.
func TestFlapAmongReroutes(t *testing.T) {
	f, err := generate.FatTree(generate.FatTreeConfig{K: 4})
	if err != nil {
		t.Fatal(err)
	}
	d := recorded(t, f, "flap.jsonl").Diagnose()
	if len(d.Suspects) == 0 || d.Suspects[0].Symptom != diagnose.Flap || d.Suspects[0].Link != "edge3-2:swp2--agg3-2:swp2" || d.Suspects[0].Probability < diagnose.Named {
		t.Errorf("got\n%s", d.Text())
	}
}

// recorded returns what records of a lab tell, which testdata holds.
func recorded(t *testing.T, f *graphs.Fabric, name string) *diagnose.Store {
	t.Helper()
	s := diagnose.NewStore(f, diagnose.Config{})
	record(t, s, name)
	return s
}

// record adds them to a store.
func record(t *testing.T, s *diagnose.Store, name string) {
	t.Helper()
	in, err := os.Open("testdata/" + name + ".gz")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	plain, err := gzip.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := evidence.Read(plain, name, func(r *evidence.Record) bool { s.Add(r); return true }); err != nil {
		t.Fatal(err)
	}
}

// TestFlapMovesItsFlows reads what the probes of two hosts of another told (testdata/moved.jsonl.gz: a DRing of 12 switches, a link down for half a second every four; answers of switches left out).
// The link is the only shortest way of the three flows on it, which went around it each time that it was down, and nobody knew yet where while they lost packets.
func TestFlapMovesItsFlows(t *testing.T) {
	f, err := generate.DRing(generate.DRingConfig{Supernodes: 6, Switches: 12, Hosts: 1})
	if err != nil {
		t.Fatal(err)
	}
	d := recorded(t, f, "moved.jsonl").Diagnose()
	if x := d.Suspects; len(x) != 1 || x[0].Symptom != diagnose.Flap || x[0].ID != "s1-sw1:swp6--s5-sw2:swp1" || x[0].Probability < diagnose.Named || len(x[0].Episodes) != 3 || x[0].PeriodMS < 3950 || x[0].PeriodMS > 4050 {
		t.Errorf("got\n%s", d.Text())
	}
}

// TestFlapsAtOnce reads what the probes of four hosts told of two links that go down for half a second at the same time (testdata; answers of switches left out). On a PolarFly of 31
// switches they do so every four seconds, all of them (atonce.jsonl.gz), and nobody knew the ways of their flows while these lost packets. On a leaf-spine they lie at one leaf, and were
// down together once (hashed.jsonl.gz): some flows that its routes moved from the first then died on the second, among them two that were known on a third link, which is well.
func TestFlapsAtOnce(t *testing.T) {
	polar, err := generate.PolarFly(generate.PolarFlyConfig{Q: 5, Hosts: 1})
	if err != nil {
		t.Fatal(err)
	}
	leaves, err := generate.LeafSpine(generate.LeafSpineConfig{Leaves: 4, Spines: 4, Hosts: 2})
	if err != nil {
		t.Fatal(err)
	}
	tells(t, polar, "atonce.jsonl", "w-sw2:swp3--c2-sw3:swp1", "w-sw4:swp3--c4-sw4:swp1")
	tells(t, leaves, "hashed.jsonl", "leaf2:swp1--spine1:swp2", "leaf2:swp4--spine4:swp2")
}

// tells asserts what is named, in any order, by what was recorded of a fabric.
func tells(t *testing.T, f *graphs.Fabric, name string, wanted ...string) {
	t.Helper()
	var named []string
	d := recorded(t, f, name).Diagnose()
	for _, x := range d.Suspects {
		if x.Probability >= diagnose.Named {
			named = append(named, x.ID)
		}
	}
	if slices.Sort(named); !slices.Equal(named, wanted) {
		t.Errorf("%s: named are %q, expected %q\n%s", name, named, wanted, d.Text())
	}
}

// TestFlapBesideDead reads what the probes of four hosts of a leaf-spine told of a link that goes down for half a second every three and of a dead one, where no switch answers
// (testdata/besidedead.jsonl.gz): of flows that are always dead nothing is lost by what goes down, at whose moments a spine was named for both.
func TestFlapBesideDead(t *testing.T) {
	f, err := generate.LeafSpine(generate.LeafSpineConfig{Leaves: 4, Spines: 4, Hosts: 2})
	if err != nil {
		t.Fatal(err)
	}
	d := recorded(t, f, "besidedead.jsonl").Diagnose()
	flaps := func(x diagnose.Suspect) bool {
		return x.Symptom == diagnose.Flap && x.Probability >= 0.9 && slices.Contains(x.Class, "leaf4:swp3--spine3:swp4")
	}
	node := func(x diagnose.Suspect) bool { return x.Kind == "node" && x.Probability >= diagnose.Named }
	if !slices.ContainsFunc(d.Suspects, flaps) || slices.ContainsFunc(d.Suspects, node) {
		t.Errorf("got\n%s", d.Text())
	}
}

// TestFlapBesideDeadLeaf reads what the probes of three hosts of four rails told of a leaf that died as they began and of a link that goes down for a moment every four seconds
// (testdata/rails.jsonl.gz; answers of switches left out). Hosts have four links each, of which any leads to all of their addresses, and a flow that is dead is not traced: an arc was named beside both
// for those of the flows of unknown ways that cross the dead leaf.
func TestFlapBesideDeadLeaf(t *testing.T) {
	tells(t, rails(t), "rails.jsonl", "leaf3-1", "leaf4-1:swp2--spine2:swp7")
}

// TestFlapLuresBack reads what the probes of three hosts of four rails told of a leaf that died as they began, and of a link that goes down for .7 s every three (testdata/lured.jsonl.gz; answers of
// switches left out). When the link is down some flows go around the dead leaf, and are traced only then; when it comes up they are dead again, where nobody sees them: an arc was named on the ways that
// they were traced on.
func TestFlapLuresBack(t *testing.T) {
	tells(t, rails(t), "lured.jsonl", "leaf1-1:swp1--spine1:swp1", "leaf3-1")
}

// TestDeadSoonBesideFlap reads what the probes of four hosts of three tiers told of a link that died both ways a quarter of a second after they began, beside one that goes down for a moment every three
// seconds (testdata/deadsoon.jsonl.gz; answers of switches left out). The few packets that crossed it one way before, and found their answers, acquitted that way.
func TestDeadSoonBesideFlap(t *testing.T) {
	f, err := generate.ThreeTier(generate.ThreeTierConfig{Zones: 2, Racks: 4, ClusterSwitches: 2, Aggregation: 2, Hosts: 1, NICs: 2})
	if err != nil {
		t.Fatal(err)
	}
	tells(t, f, "deadsoon.jsonl", "rtsw1-1:swp1--ctsw1-1:swp1", "rtsw1-2:swp1--ctsw1-1:swp2")
}

// TestFlapBesideLoss: a link that goes down every twelve seconds has that period, and an arc beside it that always loses two in a hundred has no episodes, though many flows cross both.
func TestFlapBesideLoss(t *testing.T) {
	f, err := generate.LeafSpine(generate.LeafSpineConfig{Leaves: 8, Spines: 4, Hosts: 8})
	if err != nil {
		t.Fatal(err)
	}
	const windows, probes, every = 24, 50, 100 // of 5 seconds, a probe each 100 ms
	ecmp, start := pathfind.NewECMP(f), time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	leaf := func(i int) graphs.NodeID { return f.Switches()[i] }
	flapping, lossy := f.Out(leaf(1))[1].Link(), f.Out(leaf(2))[1] // to the same spine
	rng := rand.New(rand.NewPCG(3, 6))
	lost := func(path []graphs.ArcID, ms int) bool {
		return slices.ContainsFunc(path, func(a graphs.ArcID) bool {
			return a.Link() == flapping && ms%12000 >= 5100 && ms%12000 < 6100 || a == lossy && rng.IntN(50) == 0
		})
	}
	names := func(path []graphs.ArcID) (list []string) {
		for _, a := range path {
			list = append(list, f.ArcName(a))
		}
		return list
	}
	s := diagnose.NewStore(f, diagnose.Config{})
	hosts := f.Hosts()
	for i, src := range hosts {
		for k := range 6 {
			dst := hosts[(i+8+rng.IntN(len(hosts)-15))%len(hosts)]
			there, _ := ecmp.Paths(src, dst, 100)
			home, _ := ecmp.Paths(dst, src, 100)
			path, back := there[rng.IntN(len(there))].Arcs, home[rng.IntN(len(home))].Arcs
			for w := range windows {
				var at []int
				forward := 0
				for n := range probes {
					if ms := w*probes*every + n*every; lost(path, ms) {
						forward++
						at = append(at, n*every)
					} else if lost(back, ms) {
						at = append(at, n*every)
					}
				}
				r := &evidence.Record{
					Time: start.Add(time.Duration(w+1) * 5 * time.Second), Source: evidence.SourceProbe, By: f.NodeName(src), Kind: evidence.KindEcho,
					Flow: &evidence.Flow{Src: f.Address(src, false), Dst: f.Address(dst, false), Proto: "udp", SrcPort: uint16(50000 + k), DstPort: 862},
					Path: names(path), Back: names(back), Sent: evidence.Int(probes), Lost: evidence.Int(len(at)), LostForward: evidence.Int(forward),
					LostBack: evidence.Int(len(at) - forward), LostAtMS: at, WindowMS: probes * every,
				}
				s.Add(r)
			}
		}
	}
	d := s.Diagnose()
	found := 0
	for _, x := range d.Suspects {
		switch {
		case x.Probability < diagnose.Named:
		case x.Link == f.LinkName(flapping) && x.Symptom == diagnose.Flap && len(x.Episodes) == 10 && x.PeriodMS == 12000:
			found++
		case x.ID == f.ArcName(lossy) && x.Symptom == diagnose.Loss && len(x.Episodes) == 0:
			found++
		default:
			found = -9
		}
	}
	if found != 2 {
		t.Errorf("%s", d.Text())
	}
}

// TestTracedAstray reads what the probes of three hosts of four rails told of two links, one of which goes down for half a second every two (testdata/astray.jsonl.gz; answers of switches left out). A
// quarter of its flows are traced while they are on other ways, and what they lose when it goes down again was lost there.
func TestTracedAstray(t *testing.T) {
	tells(t, rails(t), "astray.jsonl", "leaf1-1:swp1--spine1:swp1", "leaf3-2:swp2--spine2:swp6")
}

// TestHalfOfTheFlows reads what the probes of the hosts of a leaf-spine told of an arc that drops all packets of half of the flows, two seconds after they began (testdata/halfhole.jsonl.gz; answers of switches
// left out). That paths became known is no change of paths, in which the others may have been elsewhere: the link was said to go down.
func TestHalfOfTheFlows(t *testing.T) {
	f, err := generate.LeafSpine(generate.LeafSpineConfig{Leaves: 4, Spines: 4, Hosts: 2})
	if err != nil {
		t.Fatal(err)
	}
	tells(t, f, "halfhole.jsonl", "leaf3:swp1>spine1:swp3")
}

// TestTracesToldTwice reads such a record twice, as where a file and an older copy of it are given: what was traced twice at one moment has not changed in between.
func TestTracesToldTwice(t *testing.T) {
	f := rails(t)
	once, twice := recorded(t, f, "astray.jsonl"), recorded(t, f, "astray.jsonl")
	record(t, twice, "astray.jsonl")
	want, got := once.Diagnose(), twice.Diagnose()
	same := func(x, y diagnose.Suspect) bool {
		return x.ID == y.ID && x.Symptom == y.Symptom && x.Probability == y.Probability
	}
	if !slices.EqualFunc(want.Suspects, got.Suspects, same) {
		t.Errorf("told twice it is\n%s\nonce it is\n%s", got.Text(), want.Text())
	}
}

// TestDeadThenBackBesideFlap reads what the probes of three hosts of three tiers, each of two links, told of a link that goes down for .3 s every five, and of an arc at its switch that dies
// after 7.5 s (testdata/revived.jsonl.gz; answers of switches left out). Flows had lost packets before they died, which acquitted the arc by what they told then; and they are alive for as long as the
// link is down and they are on other ways, where nobody traces them: the links of hosts were named.
func TestDeadThenBackBesideFlap(t *testing.T) {
	tells(t, threeTier(t), "revived.jsonl", "ctsw1-1:swp2>rtsw1-2:swp1", "ctsw1-1:swp3--atsw1:swp1")
}

// TestMovedOntoDead reads what the probes of three hosts of three tiers, each of two links, told of a dead link, and of one that is down for a second every four
// (testdata/ontodead.jsonl.gz; answers of switches left out). Its flows are moved, some of them onto the dead link, and lose packets for as long as it is down: other links that these flows
// share were named.
func TestMovedOntoDead(t *testing.T) {
	tells(t, threeTier(t), "ontodead.jsonl", "ctsw2-1:swp3--atsw1:swp3", "rtsw2-2:swp2--ctsw2-2:swp2")
}

// TestLeafDiesUnseen reads what the probes of four hosts of four rails told, where no switch answers, of a leaf that dies after five seconds beside a link that is down for .3 s every two
// (testdata/leafdies.jsonl.gz). Flows die that are alive while the link takes them elsewhere, or had lost packets with it before, and the others seemed to lose packets each by itself, at one moment: other
// leaves, spines and links were named, to flap two thirds of the time.
func TestLeafDiesUnseen(t *testing.T) {
	d := recorded(t, rails(t), "leafdies.jsonl").Diagnose()
	found := 0
	for _, x := range d.Suspects {
		switch {
		case x.Probability < diagnose.Named:
		case slices.Contains(x.Class, "leaf2-2") && len(x.Class) == 4 && x.Symptom == diagnose.Loss && *x.Loss > 0.9:
			found++
		case slices.Contains(x.Class, "leaf4-2:swp3--spine3:swp8") && x.Symptom == diagnose.Flap && x.Duty < 0.2:
			found++
		default:
			found = -9
		}
	}
	if found != 2 {
		t.Errorf("%s", d.Text())
	}
}

// rails is four rails of two leaves each, for eight hosts of four links.
func rails(t *testing.T) *graphs.Fabric {
	t.Helper()
	f, err := generate.Rail(generate.RailConfig{GPUs: 32, Rails: 4, Ports: 8})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// threeTier is two zones of two racks, whose hosts have two links each.
func threeTier(t *testing.T) *graphs.Fabric {
	t.Helper()
	f, err := generate.ThreeTier(generate.ThreeTierConfig{Zones: 2, Racks: 2, ClusterSwitches: 2, Aggregation: 2, Hosts: 2, NICs: 2})
	if err != nil {
		t.Fatal(err)
	}
	return f
}
