package cli

import (
	"path/filepath"
	"sync"
	"testing"
	"time"

	"whichlink/graphs/generate"
	"whichlink/internal/diagnose"
	"whichlink/internal/evidence"
)

// TestLearnAtOnce: of checks that learn into one file at the same moment none is lost.
func TestLearnAtOnce(t *testing.T) {
	f, err := generate.LeafSpine(generate.LeafSpineConfig{Leaves: 2, Spines: 2, Hosts: 1})
	if err != nil {
		t.Fatal(err)
	}
	hosts := f.Hosts()
	name := filepath.Join(t.TempDir(), "b.json")
	const checks = 8
	var running sync.WaitGroup
	for range checks {
		how := &checking{baseline: name, learn: true}
		record := how.recorder(f)
		for i := range 20 {
			record(&evidence.Record{
				Time: time.Unix(int64(i), 0), WindowMS: 1000, Source: evidence.SourceProbe, Kind: evidence.KindEcho,
				Flow: &evidence.Flow{Src: f.Address(hosts[0], false), Dst: f.Address(hosts[1], false), Proto: "udp", SrcPort: 50000, DstPort: 862},
				Sent: evidence.Int(20), Lost: evidence.Int(0), RTT: &evidence.Delay{Min: 60, P50: 70, P90: 80, P99: 90, Max: 100},
			})
		}
		running.Go(func() {
			if _, err := (&env{quiet: true}).holdAgainst(&diagnose.Diagnosis{Verdict: diagnose.Healthy}, nil, how); err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	b, err := readBaseline(name, false)
	if err != nil {
		t.Fatal(err)
	}
	if len(b.Entries) != 1 || len(b.Entries[0].Runs) != checks {
		t.Errorf("%d checks learned: %+v", checks, b.Entries)
	}
}
