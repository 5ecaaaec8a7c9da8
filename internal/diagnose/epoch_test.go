package diagnose

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"whichlink/graphs"
	"whichlink/internal/evidence"
	"whichlink/pathfind"
)

// TestEpochs: evidence of two epochs is never mixed. A flow whose path is not known may have taken another in the next epoch, so that its losses in
// one and its answers in the other are no evidence of the same path; and what was answered while the path changed clears neither.
func TestEpochs(t *testing.T) {
	p := newPlay(t, 8)
	fl := &p.flows[slices.IndexFunc(p.flows, func(fl playFlow) bool { return len(fl.path) >= 4 })]
	i := 0
	echo := func(epoch string, lost int, path, back []graphs.ArcID) {
		i++
		p.store.Add(&evidence.Record{V: 1, Time: p.start.Add(time.Duration(i) * time.Second), Source: evidence.SourceProbe, By: fl.by, Epoch: epoch,
			Kind: evidence.KindEcho, Flow: &fl.flow, Sent: evidence.Int(100), Lost: evidence.Int(lost), LostForward: evidence.Int(lost),
			LostBack: evidence.Int(0), WindowMS: 1000, Path: p.names(path), Back: p.names(back)})
	}
	echo("1", 50, nil, nil)
	echo("1", 50, nil, nil)
	echo("2", 0, nil, nil)
	echo("2", 0, fl.path, fl.back)
	echo("3", 0, fl.path, fl.back)
	seen := p.store.observe(nil, time.Time{})
	for i := range seen.list {
		if l := seen.flow(&seen.list[i]); l.flow != fl.flow {
			t.Errorf("observation %d is told of flow %v", i, l.flow)
		}
	}
	var got []string
	flows := map[int]int{}
	for _, o := range seen.list {
		if o.Src == p.store.flows[flowKey{flow: fl.flow}].first.src { // the way there
			if _, ok := flows[o.Flow]; !ok {
				flows[o.Flow] = len(flows)
			}
			got = append(got, fmt.Sprintf("flow %d: %d of %d lost, certain %v", flows[o.Flow], o.Lost, o.Sent, o.Path != nil))
		}
	}
	want := []string{"flow 0: 100 of 200 lost, certain false", "flow 1: 0 of 100 lost, certain false", "flow 2: 0 of 200 lost, certain true"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestPathChange: of what a flow sent between the last time that it was seen on one path and the first on another, it is not known which it took.
func TestPathChange(t *testing.T) {
	p := newPlay(t, 8)
	fl := &p.flows[slices.IndexFunc(p.flows, func(fl playFlow) bool { return len(fl.path) >= 4 })]
	paths, _ := p.e.Paths(p.f.Tail(fl.path[0]), p.f.Head(fl.path[len(fl.path)-1]), 100)
	other := paths[slices.IndexFunc(paths, func(o pathfind.Path) bool { return !slices.Equal(o.Arcs, fl.path) })].Arcs
	at := func(ms int) time.Time { return p.start.Add(time.Duration(ms) * time.Millisecond) }
	seen := func(ms, previous int, path []graphs.ArcID) {
		before := at(previous)
		p.store.Add(&evidence.Record{V: 1, Time: at(ms), Source: evidence.SourceProbe, By: fl.by, Kind: evidence.KindPath, Flow: &fl.flow,
			Path: p.names(path), Back: p.names(fl.back), PreviousTime: &before, Changed: true})
	}
	echo := func(to int, path []graphs.ArcID) {
		p.store.Add(&evidence.Record{V: 1, Time: at(to), Source: evidence.SourceProbe, By: fl.by, Kind: evidence.KindEcho, Flow: &fl.flow,
			Path: p.names(path), Back: p.names(fl.back), Sent: evidence.Int(10), Lost: evidence.Int(0), WindowMS: 500})
	}
	seen(0, 0, fl.path)
	for _, to := range []int{500, 1000, 1500} {
		echo(to, fl.path)
	}
	seen(1500, 1000, other)
	echo(2000, other)
	l := p.store.flows[flowKey{flow: fl.flow}].first
	for j, want := range []int{1, 1, 2, 1} {
		path, _ := l.at(&l.echoes[j], false)
		if len(path.alternatives) != want {
			t.Errorf("echo %d has %d alternatives, want %d", j, len(path.alternatives), want)
		}
	}
	if path, _ := l.at(&l.echoes[3], false); !slices.Equal(path.alternatives[0], other) {
		t.Error("what was sent on the new path is counted on another")
	}
}

// TestSettledWays: what a flow sent in an epoch before it was traced, or while a trace left several ways open, went where it was found to go in the same epoch, as far as that is one
// of these. Of another epoch, where traces contradict each other, and where far more was lost until the first trace than since, that tells nothing.
func TestSettledWays(t *testing.T) {
	p := newPlay(t, 8)
	fl := &p.flows[slices.IndexFunc(p.flows, func(fl playFlow) bool { return len(fl.path) >= 4 })]
	paths, _ := p.e.Paths(p.f.Tail(fl.path[0]), p.f.Head(fl.path[len(fl.path)-1]), 100)
	other := paths[slices.IndexFunc(paths, func(o pathfind.Path) bool { return !slices.Equal(o.Arcs, fl.path) })].Arcs
	i, lost := 0, 5
	echo := func(epoch string, ways ...[]graphs.ArcID) {
		i++
		r := &evidence.Record{V: 1, Time: p.start.Add(time.Duration(i) * time.Second), Source: evidence.SourceProbe, By: fl.by, Epoch: epoch,
			Kind: evidence.KindEcho, Flow: &fl.flow, Sent: evidence.Int(100), Lost: &lost, LostForward: &lost, LostBack: evidence.Int(0), WindowMS: 1000}
		for _, w := range ways {
			r.Candidates = append(r.Candidates, p.names(w))
		}
		if r.Back = p.names(fl.back); len(ways) == 1 {
			r.Path, r.Candidates = r.Candidates[0], nil
		}
		p.store.Add(r)
	}
	echo("1")
	echo("1", other, fl.path)
	echo("1", fl.path)
	echo("2")
	echo("3", other)
	echo("3")
	echo("3", fl.path)
	lost = 60
	echo("4")
	lost = 5
	echo("4", fl.path)
	p.store.arrange()
	l := p.store.flows[flowKey{flow: fl.flow}].first
	for j, want := range []int{1, 1, 1, 0, 1, 0, 1, 0, 1} {
		if path, _ := l.at(&l.echoes[j], false); len(path.alternatives) != want || want == 1 && j < 3 && !slices.Equal(path.alternatives[0], fl.path) {
			t.Errorf("echo %d has %d alternatives, want %d", j, len(path.alternatives), want)
		}
	}
}
