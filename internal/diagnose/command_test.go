package diagnose

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"whichlink/graphs"
	"whichlink/graphs/generate"
	"whichlink/internal/evidence"
	"whichlink/pathfind"
	"whichlink/pathfind/localize"
	"whichlink/pathfind/next"
	"whichlink/pathfind/plan"
	"whichlink/probes"
)

// An inquest is a store to which flows of a leaf-spine are added, one arc of which loses a tenth of what crosses it, and it is not known which.
type inquest struct {
	*testing.T
	f     *graphs.Fabric
	store *Store
	port  uint16        // of the reflectors
	later time.Duration // than the first flows
}

func newInquest(t *testing.T) *inquest {
	t.Helper()
	f, err := generate.LeafSpine(generate.LeafSpineConfig{Leaves: 4, Spines: 4, Hosts: 2})
	if err != nil {
		t.Fatal(err)
	}
	return &inquest{t, f, NewStore(f, Config{}), probes.DefaultPort, 0}
}

func (q *inquest) node(name string) graphs.NodeID {
	n, ok := q.f.NodeByName(name)
	if !ok {
		q.Fatalf("no node %s", name)
	}
	return n
}

// flow adds ten seconds of a flow, of which only the way there may be known: by a spine, 0 for none.
func (q *inquest) flow(src, dst string, sport uint16, spine, sent, lost int, traced bool) {
	at := time.Date(2026, 11, 20, 3, 0, 10, 0, time.UTC).Add(q.later)
	fl := evidence.Flow{Src: q.f.Address(q.node(src), false), Dst: q.f.Address(q.node(dst), false), Proto: "udp", SrcPort: sport, DstPort: q.port}
	r := evidence.Record{V: evidence.Version, Time: at, Source: evidence.SourceProbe, By: src, Epoch: "0", Flow: &fl}
	if spine > 0 {
		paths, _ := pathfind.NewECMP(q.f).Paths(q.node(src), q.node(dst), 16)
		for _, p := range paths {
			if q.f.NodeName(q.f.Head(p.Arcs[1])) == fmt.Sprintf("spine%d", spine) {
				for _, a := range p.Arcs {
					r.Path = append(r.Path, q.f.ArcName(a))
				}
			}
		}
	}
	if traced {
		seen, hop := r, r
		seen.Kind, hop.Kind, hop.Path = evidence.KindPath, evidence.KindHop, nil
		hop.TTL, hop.Sent, hop.Answered = 2, evidence.Int(2), evidence.Int(0)
		q.store.Add(&seen)
		q.store.Add(&hop)
	}
	r.Kind, r.WindowMS = evidence.KindEcho, 10_000
	r.Sent, r.Lost, r.LostForward, r.LostBack = evidence.Int(sent), evidence.Int(lost), evidence.Int(lost), evidence.Int(0)
	q.store.Add(&r)
}

// step returns what splits the first suspect.
func (q *inquest) step() Step {
	q.Helper()
	d := q.store.Diagnose()
	if len(d.Suspects) == 0 || len(d.Suspects[0].Class) < 2 {
		q.Fatalf("no class:\n%s", d.Text())
	}
	return d.Suspects[0].Next[0]
}

// open adds flows that leave open which uplink of leaf1 loses packets.
func (q *inquest) open(traced bool) {
	for i := range uint16(12) {
		q.flow("h1-1", fmt.Sprintf("h%d-1", 2+i%3), 50000+i, 0, 400, int(i%4/3)*40, traced)
	}
	for i := range uint16(12) {
		q.flow("h2-1", fmt.Sprintf("h%d-2", 3+i%2), 50000+i, 0, 400, 0, traced)
	}
}

// TestNextOfMany: of a suspect that is one of several links, nobody is sent to its own ends before what splits them was sent.
func TestNextOfMany(t *testing.T) {
	q := newInquest(t)
	q.open(false)
	x := q.store.Diagnose().Suspects[0]
	if len(x.Class) < 4 || x.Probability < Named || len(x.Next) != 1 || !strings.HasPrefix(x.Next[0].Why, "tell the ") {
		t.Errorf("%+v", x)
	}
}

// TestOnLink: of several links whose shares are not told each has as much, and an arc shares its link with the other.
func TestOnLink(t *testing.T) {
	arc := func(id int32) localize.Cause { return localize.Cause{Kind: localize.Arc, ID: id} }
	for _, c := range []struct {
		class   []localize.Cause
		weights []float64
		want    float64
	}{
		{nil, nil, 1},
		{[]localize.Cause{arc(0), arc(2), arc(4), arc(6)}, nil, 0.25},
		{[]localize.Cause{arc(0), arc(1), arc(2)}, []float64{0.5, 0.25, 0.25}, 0.75},
	} {
		if got := onLink(&localize.Suspect{Cause: arc(0), Class: c.class, Weights: c.weights}); got != c.want {
			t.Errorf("%v: %g, expected %g", c.class, got, c.want)
		}
	}
}

// TestCommand: what is to be typed is what whichlink probe takes, names flows that it can send, and only hosts that take part.
func TestCommand(t *testing.T) {
	q := newInquest(t)
	q.open(false)
	if got := q.step(); got.On != "h1-1" || !strings.HasPrefix(got.Do, "whichlink probe --fabric FILE --to h") || !strings.HasSuffix(got.Do, " --for 6s --out next-$(hostname)-$(date +%s)-$$.jsonl") ||
		!strings.Contains(got.Why, "next-*.jsonl") {
		t.Errorf("%+v", got)
	}

	// Of hosts that are never heard of nothing is known, but those that were asked and keep silent are left alone.
	for _, name := range []string{"h2-1", "h3-1", "h4-1"} {
		q.flow("h1-2", name, 50100, 0, 400, 0, false)
	}
	q.flow("h1-1", "h2-2", 50101, 0, 400, 400, false)
	if got := q.step().Do; strings.Contains(got, "--to h2-2") {
		t.Errorf("a host that does not answer: %s", got)
	}

	// Flows to reflectors at another port are hashed otherwise.
	q = newInquest(t)
	q.port = 9000
	q.open(false)
	for spine := 1; spine <= 4; spine++ {
		q.flow("h1-1", "h3-1", uint16(50200+spine), spine, 1, 0, true)
	}
	q.port = 862
	q.flow("h1-1", "h4-1", 50300, 2, 1, 0, true)
	if got := q.step().Do; !strings.Contains(got, " --port 9000 ") || !strings.Contains(got, "--to h3-1:5020") || strings.Contains(got, ":50300") {
		t.Errorf("agents at another port: %s", got)
	}
}

// TestBlind: where traces find no way, nobody is sent to trace more, and it is said what would help.
func TestBlind(t *testing.T) {
	q := newInquest(t)
	q.open(false)
	if got := q.step(); !strings.Contains(got.Do, "probe --fabric") {
		t.Errorf("nobody was asked: %+v", got)
	}
	q.open(true)
	if got := q.step(); strings.Contains(got.Do, "probe --fabric") || !strings.Contains(got.Do, "TTL-expired") {
		t.Errorf("%+v", got)
	}
	q.flow("h1-1", "h4-1", 50300, 2, 400, 0, true)
	if got := q.step(); !strings.Contains(got.Do, "probe --fabric") {
		t.Errorf("one is found: %+v", got)
	}
}

func TestShellWord(t *testing.T) {
	for word, want := range map[string]string{
		"h1-1":        "h1-1",
		"rack 7/h1":   "'rack 7/h1'",
		"$(reboot)":   "'$(reboot)'",
		"it's;rm":     `'it'\''s;rm'`,
		"tab\there":   "'tab\ufffdhere'",
		"h1:5":        "h1:5",
		"höst":        "'höst'",
		"":            "''",
		"a`id`&b>c|d": "'a`id`&b>c|d'",
	} {
		if got := shellWord(word); got != want {
			t.Errorf("%q: %s, want %s", word, got, want)
		}
	}
}

// TestRecall: a known flow is told with what it lost on the ways that it takes now, by direction where that is told.
func TestRecall(t *testing.T) {
	now, before := way{[][]graphs.ArcID{{1, 2}}}, way{[][]graphs.ArcID{{1, 3}}}
	l := &flowLog{src: 4, dst: 5, echoes: []echo{
		{path: before, sent: 50, lost: 50},
		{path: now, sent: 100, lost: 7, split: true, lostForward: 3, lostBack: 4},
		{path: now, sent: 10, lost: 10},
		{path: now, sent: 20},
	}}
	l.flow.Proto, l.flow.SrcPort = "udp", 9
	known := []next.Known{{Flow: plan.Flow{Src: 4, Dst: 5, SrcPort: 8}}, {Flow: plan.Flow{Src: 4, Dst: 5, SrcPort: 9}}}
	(&Store{order: []*flowLog{l}}).recall(known)
	want := []next.Known{known[0], {Flow: known[1].Flow, There: next.Count{Sent: 130, Lost: 13}, Home: next.Count{Sent: 117, Lost: 4}}}
	if d := cmp.Diff(want, known); d != "" {
		t.Error(d)
	}
}
