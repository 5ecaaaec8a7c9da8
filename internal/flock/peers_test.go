package flock

import (
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var (
	peersToo = flag.Bool("peers", false, "score published systems on the traces, too (TestPeers)")
	trainDir = flag.String("train", "", "directory of the sets of traces that the parameters of published systems are tuned on (TestPeers)")
)

// A peer is a published way to localize faults, written anew from its description. It hands over what it names with each setting of its parameters.
type peer struct {
	name  string
	kinds []Evidence
	// The setting that is called own is that of its authors.
	try func(x *scene, seen Evidence, each func(setting string, faulty []int32))
}

// peers are those of the table.
var peers = []peer{
	{"Flock", Kinds, tryFlock},
	{"007", []Evidence{INT, A1, A2}, try007},
	{"NetBouncer", []Evidence{INT, A1}, tryNetBouncer},
	{"prototype", []Evidence{INT, A1}, tryPrototype},
}

// A trial is how well one setting of a peer did on each trace.
type trial struct {
	setting string
	sum     tally
	traces  []verdict
}

// A verdict is what is said of a trace, held against its truth.
type verdict struct{ precision, recall float64 }

func (v verdict) good() float64 { return v.precision + v.recall }

func (x *trial) add(v verdict) {
	x.traces = append(x.traces, v)
	x.sum.add(v.precision, v.recall)
}

// trials are those of a peer, by setting, in the order in which they were first tried.
type trials struct {
	all []*trial
	at  map[string]*trial
}

func (x *trials) of(setting string) *trial {
	if x.at == nil {
		x.at = map[string]*trial{}
	}
	if x.at[setting] == nil {
		x.at[setting] = &trial{setting: setting}
		x.all = append(x.all, x.at[setting])
	}
	return x.at[setting]
}

// best returns the setting of the greatest F, that in the middle where several reach it; nil where nothing was tried.
func (x *trials) best() *trial {
	var tied []*trial
	for _, t := range x.all {
		switch {
		case len(tied) == 0 || t.sum.f() > tied[0].sum.f()+1e-9:
			tied = []*trial{t}
		case t.sum.f() > tied[0].sum.f()-1e-9:
			tied = append(tied, t)
		}
	}
	if len(tied) == 0 {
		return nil
	}
	return tied[len(tied)/2]
}

// A match is a row of the table with all that was tried on its traces.
type match struct {
	row    row
	traces []string
	ours   trial
	peers  []trials // as in peers
}

// play scores whichlink, if asked to, and the peers on the traces of a directory.
func play(t *testing.T, dir string, r row, ours bool) *match {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, r.set, "*.trace"))
	if err != nil {
		t.Fatal(err)
	}
	m := &match{row: r, peers: make([]trials, len(peers))}
	for _, file := range files {
		f, trace := openTrace(t, file)
		x, err := Observe(trace, file, f, r.evidence)
		trace.Close()
		if err != nil {
			t.Fatal(err)
		}
		truth := readTruth(t, file)
		judge := func(arcs, devices []string) verdict {
			precision, recall := truth.score(f, arcs, devices)
			return verdict{precision, recall}
		}
		m.traces = append(m.traces, strings.TrimSuffix(filepath.Base(file), ".trace"))
		if ours {
			m.ours.add(judge(named(f, x.Solve(f, r.spread))))
		}
		scene := newScene(t, f, x.Observations)
		for i, p := range peers {
			if slices.Contains(p.kinds, r.evidence) {
				p.try(scene, r.evidence, func(setting string, faulty []int32) { m.peers[i].of(setting).add(judge(scene.told(faulty))) })
			}
		}
	}
	return m
}

// TestPeers prints a Markdown table of how well whichlink, with its one set of parameters, and published systems find faults on the same traces:
//
//	go test ./internal/flock -run 'TestPeers$' -v -peers -traces traces -train train
//
// A peer's column tells its F as its authors set it; with the setting of a grid that is best on the traces of the same set in another directory; and with that
// which is best on the very traces that are scored, which nobody can know before. Then comes on how many traces whichlink is better, and on how many it is
// worse, than with the last, by the sum of precision and recall.
func TestPeers(t *testing.T) {
	if *tracesDir == "" || !*peersToo {
		t.Skip("not asked for (-peers -traces DIR)")
	}
	head, rule := "| set | evidence | traces | whichlink |", "| --- | --- | ---: | ---: |"
	for _, p := range peers {
		head, rule = head+" "+p.name+" |", rule+" ---: |"
	}
	fmt.Println(head)
	fmt.Println(rule)
	for _, r := range asked() {
		if r.set == "large" && r.evidence != INT && r.evidence != A1 {
			continue // its 12 million paths are more than the peers can list
		}
		here := play(t, *tracesDir, r, true)
		if len(here.traces) == 0 {
			continue
		}
		var before *match
		if *trainDir != "" {
			before = play(t, *trainDir, r, false)
		}
		line := fmt.Sprintf("| %s | %s | %d | %.3f |", r.set, r.evidence, len(here.traces), here.ours.sum.f())
		for i := range peers {
			line += " " + here.against(i, before) + " |"
		}
		fmt.Println(line)
	}
}

// against returns the column of a peer.
func (m *match) against(peer int, before *match) string {
	best := m.peers[peer].best()
	if best == nil {
		return ""
	}
	better, worse := 0, 0
	for i, v := range m.ours.traces {
		switch d := v.good() - best.traces[i].good(); {
		case d > 1e-9:
			better++
		case d < -1e-9:
			worse++
		}
	}
	counts := fmt.Sprintf("(%d, %d)", better, worse)
	m.tell(peer, "best here", best.setting)
	own := m.peers[peer].at["own"].sum.f()
	if len(m.peers[peer].all) == 1 {
		return fmt.Sprintf("%.3f %s", own, counts)
	}
	tuned := "-"
	if before != nil && before.peers[peer].best() != nil {
		setting := before.peers[peer].best().setting
		m.tell(peer, "tuned", setting)
		tuned = fmt.Sprintf("%.3f", m.peers[peer].at[setting].sum.f())
	}
	return fmt.Sprintf("%.3f, %s, %.3f %s", own, tuned, best.sum.f(), counts)
}

// tell lists the traces on which a setting and whichlink differ, if misses are asked for.
func (m *match) tell(peer int, how, setting string) {
	if !*misses {
		return
	}
	x := m.peers[peer].at[setting]
	fmt.Printf("%s %s %s, %s: %s: precision %.3f, recall %.3f\n", m.row.set, m.row.evidence, peers[peer].name, how, setting,
		x.sum.precision/x.sum.traces, x.sum.recall/x.sum.traces)
	for i, v := range x.traces {
		if o := m.ours.traces[i]; o != v {
			fmt.Printf("  %s: precision %.3f, recall %.3f; whichlink %.3f, %.3f\n", m.traces[i], v.precision, v.recall, o.precision, o.recall)
		}
	}
}

// TestPeersSmall: each peer names the fault of a small trace, and nothing else, with one of its settings at least.
func TestPeersSmall(t *testing.T) {
	const file = "testdata/leafspine.trace"
	for _, p := range peers {
		for _, seen := range p.kinds {
			f, trace := openTrace(t, file)
			x, err := Observe(trace, file, f, seen)
			if err != nil {
				t.Fatal(err)
			}
			scene, right := newScene(t, f, x.Observations), 0
			p.try(scene, seen, func(_ string, faulty []int32) {
				arcs, devices := scene.told(faulty)
				// Who knows no paths cannot tell it from that of the other spine.
				arcs = slices.DeleteFunc(arcs, func(a string) bool { return seen == P && a == "5>2" })
				if slices.Equal(arcs, []string{"4>2"}) && len(devices) == 0 {
					right++
				}
			})
			if right == 0 {
				t.Errorf("%s, %s: 4>2 alone is named with no setting", p.name, seen)
			}
		}
	}
}
