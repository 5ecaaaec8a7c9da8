package diagnose_test

import (
	"compress/gzip"
	"os"
	"testing"

	"whichlink/graphs/generate"
	"whichlink/internal/diagnose"
	"whichlink/internal/evidence"
)

// TestFlapAmongReroutes reads what the probes of a lab told (testdata/flap.jsonl.gz: fat-tree k=4 at 20,000 packets/s, a link down at two moments; answers of switches left out). Flows that
// went around it lost packets at the same switch, which then looks worse than its link.
func TestFlapAmongReroutes(t *testing.T) {
	f, err := generate.FatTree(generate.FatTreeConfig{K: 4})
	if err != nil {
		t.Fatal(err)
	}
	in, err := os.Open("testdata/flap.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	plain, err := gzip.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	s := diagnose.NewStore(f, diagnose.Config{})
	if _, err := evidence.Read(plain, "flap.jsonl", func(r *evidence.Record) bool { s.Add(r); return true }); err != nil {
		t.Fatal(err)
	}
	d := s.Diagnose()
	if len(d.Suspects) == 0 || d.Suspects[0].Symptom != diagnose.Flap || d.Suspects[0].Link != "edge3-2:swp2--agg3-2:swp2" || d.Suspects[0].Probability < diagnose.Named {
		t.Errorf("got\n%s", d.Text())
	}
}
