package diagnose_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"whichlink/graphs"
	"whichlink/graphs/formats"
	"whichlink/internal/diagnose"
	"whichlink/internal/evidence"
	"whichlink/pathfind"
)

// TestPauses: pause frames are followed to who begins them, who is named with what it holds up; the few that lossless networks send are not told.
func TestPauses(t *testing.T) {
	file, err := formats.ReadFile("../../testdata/ports/fabric.clab.yml")
	if err != nil {
		t.Fatal(err)
	}
	// h2-1 stops its leaf, which stops its spines, which stop another leaf.
	spread := map[string]int{"leaf2:swp5": 500_000, "spine1:swp2": 200_000, "spine2:swp2": 200_000, "leaf1:swp1": 100_000}
	for _, c := range []struct {
		name   string
		got    map[string]int     // pause frames that a port got in each of two intervals of 10 s
		late   map[string]float64 // us that an arc adds
		hot    string             // an arc that is nearly full
		unread string             // a switch of which no port tells of pause frames
		over   bool               // there were none in the second interval
		storm  string             // of whom a capture proves a storm
		from   string             // the address of that host
		named  string             // kind, id and symptom of all that is named
		low    float64            // least and most probability of the first suspect
		high   float64
		says   []string
	}{
		{name: "few", got: map[string]int{"leaf2:swp5": 700}},
		{name: "alone", got: map[string]int{"leaf2:swp5": 500_000}, named: "host h2-1 pause", low: 0.5, high: 0.75,
			says: []string{"leaf2:swp5 got 50,000 pause frames a second in 20s, which can stop it for 100 % of the time", "late; how long a frame stops a port is not counted", "on h2-1: ethtool -S eth1"}},
		{name: "slow", got: map[string]int{"leaf2:swp5": 2000}, late: map[string]float64{"leaf2:swp5>h2-1:eth1": 400}, named: "host h2-1 pause", low: 0.9, high: 1, says: []string{"delay    4"}},
		{name: "spread", got: spread, late: map[string]float64{"leaf2:swp5>h2-1:eth1": 400, "spine1:swp2>leaf2:swp1": 300}, named: "host h2-1 pause", low: 0.9, high: 1,
			says: []string{"stop others in turn: spine1:swp2, spine2:swp2, leaf1:swp1", "a victim: spine1:swp2>leaf2:swp1 adds"}},
		{name: "beside what lossless networks do", got: map[string]int{"leaf2:swp5": 500_000, "h2-1:eth1": 3000, "leaf2:swp1": 3000, "spine1:swp2": 3000},
			late: map[string]float64{"spine1:swp2>leaf2:swp1": 300}, named: "arc spine1:swp2>leaf2:swp1 delay, host h2-1 pause", low: 0.9, high: 1},
		{name: "a switch whose other ports are not read", got: map[string]int{"spine1:swp2": 500_000}, unread: "leaf2", low: 0.3, high: 0.5, says: []string{"perhaps leaf2 stops others", "it may pass on what begins elsewhere"}},
		{name: "a full queue", got: map[string]int{"spine1:swp2": 500_000, "spine2:swp2": 500_000}, hot: "leaf2:swp5>h2-1:eth1", named: "arc leaf2:swp5>h2-1:eth1 hot", low: 0.8, high: 1,
			says: []string{"for that spine1:swp2 got 50,000 pause frames a second", "it stops 2 ports"}},
		{name: "over", got: spread, over: true, says: []string{"note       pause frames of h2-1, which are over", "from 08:00:00Z to 08:00:10Z"}},
		{name: "captured, too", got: map[string]int{"leaf2:swp5": 500_000}, storm: "h2-1", named: "host h2-1 pause", low: 0.85, high: 0.95, says: []string{"pcap: a.pcap: h2-1 class 3: was paused"}},
		{name: "captured", storm: "h2-1:eth1", named: "host h2-1 pause", low: 0.6, high: 0.8},
		{name: "captured of one that passes on", got: spread, storm: "spine1", named: "host h2-1 pause", low: 0.5, high: 0.75, says: []string{"spine1 passes on pauses that begin elsewhere"}},
		{name: "captured of somebody", storm: "02:00:00:00:00:01", says: []string{"note       a.pcap: 02:00:00:00:00:01 class 3: was paused"}},
		{name: "captured of a host's card", storm: "02:00:00:00:00:01", from: "10.32.0.5", named: "host h2-1 pause", low: 0.6, high: 0.8},
		{name: "round", got: map[string]int{"leaf1:swp1": 500_000, "spine1:swp2": 500_000, "leaf2:swp2": 500_000, "spine2:swp1": 500_000}, says: []string{"as in a deadlock: leaf1:swp1, spine2:swp1, spine1:swp2, leaf2:swp2"}},
	} {
		f := file.Fabric
		load := pathfind.NewECMP(f).Loads(pathfind.Demand{Ends: f.Hosts()}).Arcs
		for a := range load {
			if load[a] *= 1e9; f.ArcName(graphs.ArcID(a)) == c.hot {
				load[a] = 95e9
			}
		}
		store := diagnose.NewStore(f, diagnose.Config{})
		adds := func(a graphs.ArcID, _ int) (float64, float64) { return c.late[f.ArcName(a)], c.late[f.ArcName(a)] }
		for _, r := range (&delayed{f: f, rng: rand.New(rand.NewPCG(1, 5)), adds: adds}).records(20) {
			store.Add(r)
		}
		for i := range 2 {
			for _, r := range counted(f, load, graphs.LinkID(graphs.None), 100e9) {
				if r.Time = r.Time.Add(time.Duration(i) * 10 * time.Second); r.By != c.unread {
					r.Out.Pause, r.In.Pause = evidence.Count(0), evidence.Count(uint64(c.got[r.Port]))
					if c.over && i == 1 {
						r.In.Pause = evidence.Count(0)
					}
				}
				if !strings.HasPrefix(r.Port, "h") || c.got[r.Port] > 0 {
					store.Add(r)
				}
			}
		}
		if c.storm != "" {
			store.Add(&evidence.Record{Time: time.Date(2026, 11, 20, 8, 0, 9, 0, time.UTC), Source: evidence.SourcePcap, By: "a.pcap", Kind: evidence.KindFinding, Finding: "pfc-storm",
				Severity: "critical", Subject: c.storm + " class 3", Address: c.from, Text: "was paused"})
		}
		d := store.Diagnose()
		var named []string
		for _, x := range d.Suspects {
			if x.Probability >= diagnose.Named {
				named = append(named, x.Kind+" "+x.ID+" "+string(x.Symptom))
			}
		}
		text := d.Text()
		ok := strings.Join(named, ", ") == c.named && (c.high == 0) == (len(d.Suspects) == 0)
		if ok && c.high > 0 {
			ok = d.Suspects[0].Probability >= c.low && d.Suspects[0].Probability <= c.high
		}
		for _, say := range c.says {
			ok = ok && strings.Contains(text, say)
		}
		if !ok {
			t.Errorf("%s: expected %q with p %.2f to %.2f and the words %q:\n%s", c.name, c.named, c.low, c.high, c.says, text)
		}
	}
}
