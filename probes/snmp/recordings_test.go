package snmp

import (
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"whichlink/probes/snmp/agentsim"
)

var update = flag.Bool("update", false, "write the golden files")

// allRecordings are those of real devices, which lie outside of the repository since their licences are others.
func allRecordings(t testing.TB) []string {
	t.Helper()
	all := recordings(t, "librenms/*.snmprec.gz")
	all = append(all, recordings(t, "opennms/*/*.txt.gz")...)
	return append(all, recordings(t, "lab-netsnmp/*.txt")...)
}

// start serves a tree until the test ends.
func start(t testing.TB, tree *agentsim.Tree, f agentsim.Faults) *agentsim.Agent {
	t.Helper()
	a, err := agentsim.Start("127.0.0.1:0", "public", tree, f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	return a
}

func newAgent(t testing.TB, sim *agentsim.Agent, l Limits) *Agent {
	a := NewAgent(sim.Address(), Credentials{Community: "public"}, l)
	t.Cleanup(func() { _ = a.Close() })
	return a
}

func load(t testing.TB, file string) *agentsim.Tree {
	t.Helper()
	tree, err := agentsim.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// TestRecordings polls recordings of real devices, holds what is read against the recording itself, and what was concluded from it against what was
// looked through once. Names are other people's: of them a hash is kept.
func TestRecordings(t *testing.T) {
	if testing.Short() {
		t.Skip("one session after the other: there is nothing that could race")
	}
	t.Parallel()
	var golden strings.Builder
	for _, file := range allRecordings(t) {
		tree := load(t, file)
		a := newAgent(t, start(t, tree.Clone(), agentsim.Faults{}), Limits{})
		for _, turn := range []string{"first", "second"} { // with all tables, and with what is kept
			r := a.Read(context.Background())
			if r.Err != nil {
				t.Errorf("%s, %s: %v", filepath.Base(file), turn, r.Err)
			}
			sameAsRecorded(t, filepath.Base(file)+", "+turn, tree, r)
			line := summary(r)
			if turn == "first" {
				fmt.Fprintf(&golden, "%s %s\n", filepath.Base(file), line)
			} else if !strings.Contains(golden.String(), filepath.Base(file)+" "+line+"\n") {
				t.Errorf("%s: the second reading tells something else: %s", filepath.Base(file), line)
			}
		}
	}
	const name = "testdata/recordings.golden"
	if *update {
		if err := os.WriteFile(name, []byte(golden.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), golden.String()); d != "" {
		t.Error(d)
	}
}

// sameAsRecorded compares ports, states and counters with the recording.
func sameAsRecorded(t *testing.T, what string, tree *agentsim.Tree, r *Reading) {
	t.Helper()
	rows := 0
	tree.Each(ifEntry+"8", func(index uint32, _ []byte) {
		rows++
		q := r.Port(index)
		if q == nil {
			t.Errorf("%s: port %d is not told", what, index)
			return
		}
		number := func(column string) (uint64, bool) { return tree.Number(fmt.Sprintf("%s.%d", column, index)) }
		for _, c := range append(append([]column{}, basicColumns...), extraColumns...) {
			want, ok := number(c.oid)
			got, has := q.Counts.value, false
			if c.is < counters {
				_, has = q.Counts.Get(c.is)
			}
			if c.is < counters && ok && (!has || got[c.is] != want) && (c.wide == q.Counts.isWide(c.is)) {
				t.Errorf("%s: port %d: %s is %d, told is %d (%t)", what, index, c.oid, want, got[c.is], has)
			}
		}
		high, _ := number(ifXEntry + "15")
		if low, _ := number(ifEntry + "5"); high > 0 && q.Speed != high*1_000_000 || high == 0 && low < 1<<32-1 && q.Speed != low {
			t.Errorf("%s: port %d: speed %d of %d Mbit/s and %d bit/s", what, index, q.Speed, high, low)
		}
		if n, _ := number(ifEntry + "8"); q.Oper != status(n) {
			t.Errorf("%s: port %d: is %s, not %d", what, index, q.Oper, n)
		}
	})
	names := map[string]bool{}
	for _, q := range r.Ports {
		if names[q.Name] {
			t.Errorf("%s: two ports are called %s", what, q.Name)
		}
		names[q.Name] = true
	}
	if rows != len(r.Ports) {
		t.Errorf("%s: %d ports of %d", what, len(r.Ports), rows)
	}
}

// summary is what is concluded from a reading, in a line.
func summary(r *Reading) string {
	var up, changes, wide, pfc, drops, lanes int
	var speed uint64
	names := sha256.New()
	light := sha256.New()
	for _, q := range r.Ports {
		fmt.Fprintf(names, "%d %s %s %d\n", q.Index, q.Name, q.Alias, q.Type)
		if q.Oper == "up" {
			up++
		}
		if q.LastChange != nil {
			changes++
		}
		if q.Counts.isWide(InOctets) {
			wide++
		}
		for _, l := range q.Optics {
			for _, p := range []*float64{l.Rx, l.Tx} {
				if p != nil {
					lanes++
					fmt.Fprintf(light, "%s %d %.2f\n", q.Name, l.Lane, *p)
				}
			}
		}
		speed += q.Speed / 1_000_000
		pfc += len(q.PFC)
		drops += len(q.Drops)
	}
	heard, ports := sha256.New(), map[string]bool{}
	for _, n := range r.Neighbours {
		fmt.Fprintf(heard, "%s %s %s %s\n", n.Port, n.Chassis, n.System, n.RemotePort)
		ports[n.Port] = true
	}
	known := 0
	for _, q := range r.Ports {
		if ports[q.Name] {
			known++
		}
	}
	return fmt.Sprintf("ports=%d up=%d wide=%d mbit=%d changes=%d pfc=%d drops=%d lights=%d names=%x light=%x neighbours=%d ports that hear=%d heard=%x", len(r.Ports), up, wide, speed,
		changes, pfc, drops, lanes, names.Sum(nil)[:6], light.Sum(nil)[:6], len(r.Neighbours), known, heard.Sum(nil)[:6])
}
