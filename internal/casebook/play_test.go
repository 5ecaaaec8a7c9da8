// Package casebook_test plays the casebook on real packets: a fabric in network namespaces, a fault, probes, a diagnosis. What is written here is
// the truth by which the diagnosis is judged; nothing of it reaches the tool.
package casebook_test

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"whichlink/graphs"
	"whichlink/graphs/formats"
	"whichlink/internal/diagnose"
	"whichlink/internal/evidence"
	"whichlink/internal/lab"
	"whichlink/internal/lab/labtest"
)

var (
	full      = flag.Bool("full", false, "play the whole casebook and print its table as Markdown")
	seeds     = flag.Int("seeds", 5, "how many seeds of each fabric and case -full plays")
	firstSeed = flag.Uint64("first", 1, "the first of these seeds")
	onlyCase  = flag.String("case", "", "play only the cases whose name holds this")
	keep      = flag.String("keep", "", "write fabric and evidence of each play into this directory")
	following = flag.Bool("follow", false, "let the diagnosis ask for flows")
	onlyShape = flag.String("shape", "", "play only the fabrics whose name holds this")
)

// totalRate is the most packets a second that all hosts of a case send together: one small machine plays them all. No host
// sends more than the default budget.
const totalRate = 20_000

// agentsSettle is what neighbours take to hear of each other when a lab comes up.
const agentsSettle = 3 * time.Second

// A verdict is how one playing of a case went.
type verdict struct {
	first, direction bool
	innocents        int
	seconds          float64 // until the right answer stood; the whole time if it never did
	sent             int
	wrong            string
}

// play plays a case once.
func play(t *testing.T, sh shape, c casebookCase, seed uint64) verdict {
	t.Helper()
	if c.snmp {
		labtest.NeedAgents(t)
	}
	s := &stage{t: t, rng: rand.New(rand.NewPCG(seed, 7))}
	built, err := sh.make(seed)
	if err != nil {
		t.Fatal(err)
	}
	told := built
	if c.prepare != nil {
		built, told = c.prepare(s, built)
	}
	l, err := lab.New(t.Context(), lab.Config{Fabric: built, Seed: seed, SNMP: c.snmp})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	defer s.end()
	s.lab, s.f = l, l.Fabric()
	if c.snmp {
		time.Sleep(agentsSettle)
	}
	var wanted []want
	if c.set != nil {
		wanted = c.set(s)
	}
	hosts := told.Hosts()
	cfg := diagnose.WatchConfig{Fabric: told, Rate: min(1000, totalRate/float64(len(hosts))), Seed: seed, Follow: *following}
	if sh.fast {
		cfg.Rate, cfg.SwitchRate, cfg.Every = 10_000, 4000, 100*time.Millisecond
	}
	for _, h := range hosts {
		cfg.Hosts = append(cfg.Hosts, diagnose.WatchHost{Node: h, Reflect: true, Open: func(open func() error) error { return l.Do(h, open) }})
	}
	if *keep != "" {
		cfg.Record = keepEvidence(t, told, fmt.Sprintf("%s %s %d", sh.name, c.name, seed))
	}
	w, err := diagnose.NewWatch(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), c.most)
	defer cancel()
	start := time.Now()
	var stood time.Time // since when the answer is right
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		for {
			select {
			case <-ctx.Done():
				return
			case <-w.Changed():
			}
			switch v := judge(w.Latest(), wanted); {
			case len(wanted) == 0:
			case !v.first || v.innocents > 0 || c.also != nil && c.also(s, w.Latest()) != "":
				stood = time.Time{}
			case stood.IsZero():
				stood = time.Now()
			case time.Since(stood) > time.Second:
				cancel() // an answer that stood for so long is the answer
				return
			}
		}
	}()
	if c.snmp {
		poll(ctx, t, l, func(r *evidence.Record) {
			if strings.HasPrefix(r.RemoteSystem, "evil") {
				s.heardHostile.Store(true)
			}
			w.Take(r)
		})
	}
	if c.later != nil {
		timer := time.AfterFunc(2*time.Second, func() { c.later(s) })
		defer timer.Stop()
	}
	if err := w.Run(ctx); err != nil {
		t.Fatal(err)
	}
	<-watching
	d := w.Latest()
	v := judge(d, wanted)
	if v.wrong == "" && c.also != nil {
		v.wrong = c.also(s, d)
	}
	v.seconds = c.most.Seconds()
	if !stood.IsZero() {
		v.seconds = stood.Sub(start).Seconds()
	}
	v.sent = w.Sent()
	if v.wrong != "" || v.innocents > 0 {
		t.Logf("%s, case %s, seed %d: %s\nwanted %v\n%s", sh.name, c.name, seed, v.wrong, wanted, d.Text())
		for _, truth := range l.Truth() {
			t.Logf("truth: %s, hit %d packets", truth.Text, truth.Hit)
		}
	}
	return v
}

// keepEvidence writes the fabric of a play, and returns what writes its records, for a look at leisure with whichlink localize.
func keepEvidence(t *testing.T, f *graphs.Fabric, name string) func(*evidence.Record) {
	t.Helper()
	name = filepath.Join(*keep, strings.NewReplacer(" ", "-", "/", "-").Replace(name))
	if err := formats.WriteFile(name+".clab.yml", f); err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(name + ".jsonl")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { out.Close() })
	return func(r *evidence.Record) {
		if err := evidence.Write(out, r); err != nil {
			t.Error(err)
		}
	}
}

// judge compares a diagnosis with what was to be found: the wanted suspects must stand first, each by itself or within the class
// of what cannot be told from it.
func judge(d *diagnose.Diagnosis, wanted []want) verdict {
	v := verdict{first: true, direction: true}
	if len(d.Suspects) < len(wanted) {
		v.first, v.direction, v.wrong = false, false, "not all were found"
		wanted = wanted[:0]
	}
	for _, w := range wanted {
		i := slices.IndexFunc(d.Suspects[:len(wanted)], func(x diagnose.Suspect) bool { return slices.Contains(x.Class, w.id) })
		switch {
		case i < 0:
			v.first, v.direction, v.wrong = false, false, "not first: "+w.id
		case d.Suspects[i].Probability < diagnose.Named:
			v.first, v.wrong = false, "not named: "+w.id
		case !slices.Contains(w.symptoms, d.Suspects[i].Symptom):
			v.first, v.wrong = false, fmt.Sprintf("%s shows %s", w.id, d.Suspects[i].Symptom)
		case slices.Contains(d.Suspects[i].Class, reversed(w.id)):
			v.direction = false
		}
	}
	for _, x := range d.Suspects {
		if x.Probability < diagnose.Named {
			continue
		}
		guilty := slices.ContainsFunc(wanted, func(w want) bool {
			return slices.ContainsFunc(w.touching, func(g string) bool {
				return x.Link == g || slices.Contains(x.Class, g) || slices.Contains(x.Class, w.id)
			})
		})
		if !guilty {
			v.innocents++
			v.wrong = cmp.Or(v.wrong, "innocent: "+x.ID)
		}
	}
	return v
}

func TestCasebook(t *testing.T) {
	labtest.Need(t)
	if *full {
		playAll(t)
		return
	}
	for _, q := range []struct{ shape, name string }{
		{"leaf-spine 4x4", "1 loss 1% up"}, {"leaf-spine 4x4", "8 switch"}, {"leaf-spine 4x4", "T2 policed and silent"},
		{"fat-tree k=4", "7 black hole"}, {"fat-tree k=4", "T4 host"}, {"fat-tree k=4", "T5 paths change"},
		{"random 16x4", "1 loss 5% down"}, {"random 16x4", "6 down"}, {"random 16x4", "4 flap"}, {"random 16x4", "T1 loaded"},
		{"random 16x4", "T15 unnumbered"}, {"leaf-spine 4x4", "2 loss 1% counted"},
		{"random 16x4", "5 flap of 0.1 s"}, {"leaf-spine 4x4", "9 shared-risk group"},
		{"leaf-spine 4x4", "7 black hole of half of the flows"}, {"random 16x4", "18 miswire"}, {"leaf-spine 4x4", "T10 dead agents"}, {"leaf-spine 4x4", "T13 hostile names"},
	} {
		t.Run(strings.ReplaceAll(q.shape+" "+q.name, " ", "-"), func(t *testing.T) {
			sh := shapes[slices.IndexFunc(shapes, func(s shape) bool { return s.name == q.shape })]
			c := casebook[slices.IndexFunc(casebook, func(c casebookCase) bool { return c.name == q.name && !c.fast })]
			if v := play(t, sh, c, 1); v.wrong != "" || !v.first || v.innocents > 0 {
				t.Errorf("%s", v.wrong)
			}
		})
	}
}

// playAll plays every case on every fabric and prints the table of docs/casebook.md. It judges nothing: the table does.
func playAll(t *testing.T) {
	fmt.Println("| fabric | case | played | right and first | direction | innocents | seconds, median (max) | packets, median |")
	fmt.Println("| --- | --- | --- | --- | --- | --- | --- | --- |")
	var played, first, clean int
	for _, sh := range shapes {
		for _, c := range casebook {
			if c.fast != sh.fast || !strings.Contains(c.name, *onlyCase) || !strings.Contains(sh.name, *onlyShape) {
				continue
			}
			var vs []verdict
			for seed := range uint64(*seeds) {
				vs = append(vs, play(t, sh, c, *firstSeed+seed))
			}
			r := sum(vs)
			played, first, clean = played+len(vs), first+r.first, clean+r.clean
			fmt.Printf("| %s | %s | %d | %d | %d | %d | %.1f (%.1f) | %d |\n", sh.name, c.name, len(vs), r.first, r.direction, r.innocents, r.median, r.longest, r.packets)
		}
	}
	fmt.Printf("\nRight and first in %d of %d (%.1f %%), no innocent named in %d (%.1f %%).\n", first, played, 100*float64(first)/float64(played), clean, 100*float64(clean)/float64(played))
}

type summary struct {
	first, direction, clean, innocents, packets int
	median, longest                             float64
}

func sum(vs []verdict) summary {
	var r summary
	var seconds []float64
	var packets []int
	for _, v := range vs {
		if v.first && v.wrong == "" {
			r.first++
		}
		if v.direction {
			r.direction++
		}
		if v.innocents == 0 {
			r.clean++
		}
		r.innocents += v.innocents
		seconds = append(seconds, v.seconds)
		packets = append(packets, v.sent)
	}
	slices.Sort(seconds)
	slices.Sort(packets)
	r.median, r.longest, r.packets = seconds[len(seconds)/2], seconds[len(seconds)-1], packets[len(packets)/2]
	return r
}

func TestMain(m *testing.M) { labtest.Main(m) }
