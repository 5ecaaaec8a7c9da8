package cli

import (
	"testing"
	"time"

	"whichlink/internal/diagnose"
	"whichlink/internal/lab"
)

// A round is judged by who named what and when: the program by its diagnoses, whoever practises by answers.
func TestScoreboard(t *testing.T) {
	f, err := drillFabric()
	if err != nil {
		t.Fatal(err)
	}
	const arc, back, link, other = "leaf1:swp1>spine1:swp1", "spine1:swp1>leaf1:swp1", "leaf1:swp1--spine1:swp1", "leaf2:swp2--spine2:swp2"
	b := newScoreboard(f)
	start := time.Date(2026, 11, 20, 14, 0, 0, 0, time.UTC)
	at := func(s float64) time.Time { return start.Add(time.Duration(s * float64(time.Second))) }
	says := func(s float64, names ...string) *diagnose.Diagnosis {
		d := &diagnose.Diagnosis{To: at(s)}
		for _, n := range names {
			d.Suspects = append(d.Suspects, diagnose.Suspect{ID: n, Probability: 0.9})
		}
		d.Suspects = append(d.Suspects, diagnose.Suspect{ID: "spine4", Probability: diagnose.Named - 0.1})
		return d
	}
	fault := func(id lab.FaultID, kind lab.Kind, since float64, subjects ...string) lab.ActiveFault {
		return lab.ActiveFault{ID: id, Fault: lab.Fault{Kind: kind, Subjects: subjects}, Text: string(kind), Since: at(since)}
	}
	if _, err := b.learner(link, at(0)); err == nil {
		t.Error("an answer without a question")
	}
	loss := []lab.ActiveFault{fault(1, lab.Loss, 1, arc)}
	b.follow(loss, says(2), at(2))
	b.follow(loss, says(3, other), at(3)) // wrong
	b.follow(loss, says(4, other, back), at(4))
	for answer, want := range map[string]string{other: "wrong: it is not " + other, "spine3": "wrong: it is not spine3"} {
		if got, err := b.learner(answer, at(5)); err != nil || got != want {
			t.Errorf("%s: %q %v", answer, got, err)
		}
	}
	if _, err := b.learner("nowhere", at(5)); err == nil {
		t.Error("an answer that names nothing counts")
	}
	if got, _ := b.learner("spine1:swp1", at(6)); got != "right: spine1:swp1, after 5.0 s" {
		t.Error(got)
	}
	// Healed; it is named a little longer, which is no answer to what comes next.
	trap := []lab.ActiveFault{fault(2, lab.Police, 8, "spine2")}
	b.follow(nil, says(7, back), at(7))
	b.follow(trap, says(9, back), at(9))
	b.follow(trap, says(9.5), at(9.5))
	b.follow(trap, says(10, arc), at(10))
	if got, _ := b.learner(nothingBroken, at(12)); got != "right: nothing is broken" {
		t.Error(got)
	}
	b.follow(nil, says(13), at(13))
	rounds := b.list()
	if len(rounds) != 2 {
		t.Fatalf("%d rounds", len(rounds))
	}
	r := rounds[0]
	if !r.Program.Right || r.Program.After != 3*time.Second || r.Program.Wrong != 1 || !r.You.Right || r.You.After != 5*time.Second || r.You.Wrong != 2 || !r.Healed.Equal(at(7)) {
		t.Errorf("the first round is %+v", r)
	}
	if r := rounds[1]; !r.Trap || !r.Program.Right || !r.You.Right || r.Program.Wrong != 0 {
		t.Errorf("the trap is %+v", r)
	}
	// Nothing is not the answer to a fault.
	b.follow([]lab.ActiveFault{fault(3, lab.NodeLoss, 20, "spine2")}, says(21, "spine2"), at(21))
	if got, _ := b.learner(nothingBroken, at(22)); got != "wrong: something is broken" {
		t.Error(got)
	}
	if r := b.list()[2]; !r.Program.Right || r.You.Right || r.You.Wrong != 1 {
		t.Errorf("the third round is %+v", r)
	}
}
