package tui

import (
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"whichlink/graphs"
	"whichlink/graphs/generate"
	"whichlink/internal/diagnose"
	"whichlink/internal/evidence"
	"whichlink/pathfind"
)

// A session on a fabric of some sixty thousand links that takes in five thousand records a second for more than a minute, with all screens open,
// stays within 300 MiB: evidence counts for a minute, the tape keeps so many echoes, and a picture is as large as the fabric.
func BenchmarkMemory(b *testing.B) {
	for b.Loop() {
		worst, empty, picture := largeSession(b)
		b.ReportMetric(float64(worst), "MiB")
		b.ReportMetric(float64(empty), "fabric-MiB")
		b.ReportMetric(picture.Seconds()*1000, "picture-ms")
		if worst > 300 {
			b.Errorf("%d MiB are held", worst)
		}
	}
}

// largeSession returns how many MiB such a session holds at most, how many of them are the fabric's, and how much of the processor's time the slowest picture took.
func largeSession(t testing.TB) (worst, empty int, picture time.Duration) {
	const perSecond, seconds, flows = 5000, 75, 20_000
	f, err := generate.FatTree(generate.FatTreeConfig{K: 44})
	if err != nil {
		t.Fatal(err)
	}
	held := func() int {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc >> 20)
	}
	store, tape := diagnose.NewStore(f, diagnose.Config{Horizon: time.Minute}), NewTape(f, 0)
	empty = held()
	rng := rand.New(rand.NewPCG(1, 2))
	e := pathfind.NewECMP(f)
	hosts := f.Hosts()[:400] // those of one process's share of the plan: the trees of more destinations belong to planning
	type known struct {
		flow       evidence.Flow
		path, back []graphs.ArcID
	}
	list := make([]known, flows)
	for i := range list {
		src, dst := hosts[rng.IntN(len(hosts))], hosts[rng.IntN(len(hosts))]
		for src == dst {
			dst = hosts[rng.IntN(len(hosts))]
		}
		walk := func(a, b graphs.NodeID) (arcs []graphs.ArcID) {
			for at := a; at != b; {
				next := e.NextHops(at, b)
				arcs = append(arcs, next[rng.IntN(len(next))])
				at = f.Head(arcs[len(arcs)-1])
			}
			return arcs
		}
		list[i] = known{evidence.Flow{Src: f.Address(src, false), Dst: f.Address(dst, false), Proto: "udp", SrcPort: uint16(1024 + i), DstPort: 862}, walk(src, dst), walk(dst, src)}
	}
	names := func(arcs []graphs.ArcID) (out []string) {
		for _, a := range arcs {
			out = append(out, f.ArcName(a))
		}
		return out
	}
	base := held() - empty
	var st *stage
	for second := range seconds {
		for i := range perSecond {
			k := &list[(second*perSecond+i)%flows]
			at := noon.Add(time.Duration(second)*time.Second + time.Duration(i)*time.Second/perSecond)
			r := &evidence.Record{Time: at, Source: evidence.SourceProbe, By: "h", Kind: evidence.KindEcho, Flow: &k.flow, Path: names(k.path), Back: names(k.back),
				Sent: evidence.Int(20), Lost: evidence.Int(0), LostForward: evidence.Int(0), LostBack: evidence.Int(0), WindowMS: 1000, RTT: &evidence.Delay{P50: 70}}
			store.Add(r)
			tape.Add(r)
		}
		if second%15 == 14 {
			d := store.Diagnose()
			start := processTime()
			p := store.Picture(d)
			picture = max(picture, processTime()-start)
			s := &Snapshot{Diagnosis: d, Picture: p, Fabric: f, Now: d.To, Live: true, History: tape.History()}
			if st == nil {
				st = newStage(t, s, 200, 60)
			}
			st.source.s = s
			st.tick(stillFor + 1)
			for _, key := range []string{"2", "3", "enter", "4", "5", "1"} {
				st.press(key)
				st.View()
			}
			worst = max(worst, held()-base)
		}
	}
	runtime.KeepAlive(list)
	runtime.KeepAlive(e)
	return worst, empty, picture
}
