package diagnose

import (
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"whichlink/graphs/formats"
	"whichlink/internal/evidence"
)

// TestOrder: what is said of real evidence, with traces of flows and hops, does not depend on the order of its records, to the last digit: of what is
// equally likely the same is named first.
func TestOrder(t *testing.T) {
	const drill = "../../testdata/drill/"
	file, err := formats.ReadFile(drill + "fabric.clab.yml")
	if err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(drill + "evidence.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var records []*evidence.Record
	if _, err := evidence.Read(in, "evidence.jsonl", func(r *evidence.Record) bool { records = append(records, r); return true }); err != nil {
		t.Fatal(err)
	}
	said := func() string {
		s := NewStore(file.Fabric, Config{})
		for _, r := range records {
			s.Add(r)
		}
		text, err := s.Diagnose().MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	want := said()
	slices.Reverse(records)
	if got := said(); got != want {
		t.Errorf("backwards it is\n%s\nnot\n%s", got, want)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	rng.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
	if got := said(); got != want {
		t.Errorf("shuffled it is\n%s\nnot\n%s", got, want)
	}
}
