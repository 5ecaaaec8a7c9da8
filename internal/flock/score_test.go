package flock

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"whichlink/graphs"
	"whichlink/pathfind/localize"
)

var (
	traces = flag.String("traces", "", "directory of sets of traces made by flowgen")
	sets   = flag.String("sets", "small,low,soft,irr,rrg,mixed,mixedrrg,dev,devrrg,none", "")
	modes  = flag.String("modes", "int", "")
	verb   = flag.Bool("say", false, "")
)

type truth struct {
	links   []string // "a>b"
	devices []string
}

func readTruth(t *testing.T, trace string) truth {
	data, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	var tr truth
	for line := range strings.Lines(string(data)) {
		w := strings.Fields(line)
		if len(w) < 3 || w[0] != "Failing_link" {
			break
		}
		if w[1] == w[2] {
			tr.devices = append(tr.devices, w[1])
		} else {
			tr.links = append(tr.links, w[1]+">"+w[2])
		}
	}
	return tr
}

func arcsOf(f *graphs.Fabric, dev string) int {
	n, _ := f.NodeByName(dev)
	return 2 * f.Degree(n)
}

// score is Flock's precision and recall.
func score(f *graphs.Fabric, tr truth, links, devices []string) (p, r float64) {
	good := 0
	rec := 0.0
	for _, l := range links {
		a, b, _ := strings.Cut(l, ">")
		if slices.Contains(tr.links, l) || slices.Contains(tr.devices, a) || slices.Contains(tr.devices, b) {
			good++
		}
	}
	for _, d := range devices {
		if slices.Contains(tr.devices, d) {
			good++
		}
	}
	p = 1
	if n := len(links) + len(devices); n > 0 {
		p = float64(good) / float64(n)
	}
	for _, l := range tr.links {
		if slices.Contains(links, l) {
			rec++
		}
	}
	for _, d := range tr.devices {
		if slices.Contains(devices, d) {
			rec++
			continue
		}
		for _, l := range links {
			if a, b, _ := strings.Cut(l, ">"); a == d || b == d {
				rec += 1 / float64(arcsOf(f, d)+1)
			}
		}
	}
	n := len(tr.links) + len(tr.devices)
	if n == 0 {
		return p, 1
	}
	return p, rec / float64(n)
}

func TestScore(t *testing.T) {
	if *traces == "" {
		t.Skip("no -traces")
	}
	for _, set := range strings.Split(*sets, ",") {
		for _, mode := range strings.Split(*modes, ",") {
			files, _ := filepath.Glob(filepath.Join(*traces, set, "*.trace"))
			var sp, sr float64
			var took time.Duration
			for _, file := range files {
				p, r, d := one(t, file, Evidence(mode))
				sp += p
				sr += r
				took += d
			}
			n := float64(max(1, len(files)))
			sp, sr = sp/n, sr/n
			fmt.Printf("%-10s %-8s F %.3f  P %.3f R %.3f  solve %.1f ms  (%d traces)\n", set, mode, 2*sp*sr/(sp+sr), sp, sr, took.Seconds()*1e3/n, len(files))
		}
	}
	_ = json.Valid
}

func one(t *testing.T, file string, mode Evidence) (float64, float64, time.Duration) {
	top, err := os.Open(strings.TrimSuffix(file, ".trace") + ".edgelist")
	if err != nil {
		t.Fatal(err)
	}
	defer top.Close()
	f, err := ReadTopology(top, "t")
	if err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	arc := map[[2]graphs.NodeID]graphs.ArcID{}
	for a := range graphs.ArcID(f.NumArcs()) {
		arc[[2]graphs.NodeID{f.Tail(a), f.Head(a)}] = a
	}
	var obs []localize.Observation
	err = ReadTrace(in, file, f, mode, func(fl *Flow) {
		nodes := append([]graphs.NodeID{fl.Src}, fl.Path...)
		nodes = append(nodes, fl.Dst)
		nodes = slices.Compact(nodes)
		var path []graphs.ArcID
		for i := 1; i < len(nodes); i++ {
			path = append(path, arc[[2]graphs.NodeID{nodes[i-1], nodes[i]}])
		}
		obs = append(obs, localize.Observation{Path: path, Src: graphs.None, Dst: graphs.None, Responder: graphs.None, Sent: fl.Sent, Lost: fl.Lost, Flow: len(obs)})
	})
	if err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread()
	start := cpu()
	res := localize.Solve(f, obs, localize.Config{})
	took := cpu() - start
	var links, devices []string
	for _, s := range res.Suspects {
		if s.Probability < 0.5 {
			continue
		}
		switch s.Kind {
		case localize.Arc:
			a := graphs.ArcID(s.ID)
			links = append(links, f.NodeName(f.Tail(a))+">"+f.NodeName(f.Head(a)))
		case localize.Link:
			a := graphs.LinkID(s.ID).Forward()
			links = append(links, f.NodeName(f.Tail(a))+">"+f.NodeName(f.Head(a)), f.NodeName(f.Head(a))+">"+f.NodeName(f.Tail(a)))
		default:
			devices = append(devices, f.NodeName(graphs.NodeID(s.ID)))
		}
	}
	tr := readTruth(t, file)
	p, r := score(f, tr, links, devices)
	if *verb && (p < 1 || r < 1) {
		fmt.Println(filepath.Base(filepath.Dir(file)), filepath.Base(file), "P", p, "R", r, "truth", tr, "said", links, devices)
	}
	return p, r, took
}

func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_THREAD, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
