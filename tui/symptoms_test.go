package tui

import (
	"testing"

	"whichlink/graphs"
)

// TestSymptomOfClass: links that the evidence cannot tell apart read alike, and not as if one were sick and the others well.
func TestSymptomOfClass(t *testing.T) {
	f := fatTree(t).Fabric
	first, second := graphs.LinkID(3), graphs.LinkID(5)
	s := on(t, f, first)
	if got := symptomsOf(s); len(got) != 1 || got[first] != "LOSS" {
		t.Errorf("one that is alone reads %v", got)
	}
	x := &s.Diagnosis.Suspects[0]
	x.Class = append(x.Class, f.LinkName(first))
	if got := symptomsOf(s); len(got) != 1 || got[first] != "LOSS" {
		t.Errorf("an arc and its own link read %v", got)
	}
	x.Class = append(x.Class, f.ArcName(second.Backward()))
	if got := symptomsOf(s); len(got) != 2 || got[first] != "LOSS?" || got[second] != "LOSS?" {
		t.Errorf("two of a class read %v", got)
	}
}
