package diagnose

import (
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
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

// TestToldTwice: what two files that overlap both tell counts once, and is noted; of what has no window of time nobody knows whether it happened twice.
func TestToldTwice(t *testing.T) {
	s := newScene(t)
	s.run(probing{flows: 40, packets: 20, windows: 4, lose: s.only(0.02, sickArc)})
	s.poll(10, func(port string, st *evidence.PortState) {
		if port == receiving {
			st.In.Errors = evidence.Count(300)
		}
	})
	s.flapped("leaf3:swp1", 20, 3, "carrier transitions")
	once := slices.Concat(s.probe, s.snmp)
	text := func(records []*evidence.Record) string {
		store := NewStore(s.f, Config{})
		for _, r := range records {
			store.Add(r)
		}
		return store.Diagnose().Text()
	}
	twice := append(slices.Clone(once), once[len(once)/2:]...)
	s.rng.Shuffle(len(twice), func(i, j int) { twice[i], twice[j] = twice[j], twice[i] })
	note := regexp.MustCompile("note +[0-9]+ records left out: told twice\n")
	want, got := text(once), text(twice)
	if rest := note.ReplaceAllString(got, ""); rest == got || strings.Join(strings.Fields(rest), " ") != strings.Join(strings.Fields(want), " ") {
		t.Errorf("told twice it is\n%s\nonce it is\n%s", got, want)
	}
	// A copy that was merged under other names, or another collector of the same agents, tells nothing new.
	copies := slices.Clone(once)
	for _, r := range once {
		other := *r
		other.By = "copy of " + r.By
		copies = append(copies, &other)
	}
	s.rng.Shuffle(len(copies), func(i, j int) { copies[i], copies[j] = copies[j], copies[i] })
	if got = text(copies); strings.Join(strings.Fields(note.ReplaceAllString(got, "")), " ") != strings.Join(strings.Fields(want), " ") {
		t.Errorf("told by two it is\n%s\nonce it is\n%s", got, want)
	}
	for _, r := range s.probe {
		r.WindowMS = 0
	}
	if got := text(slices.Concat(s.probe, s.probe)); note.MatchString(got) {
		t.Errorf("without windows it is\n%s", got)
	}
}
