package tui

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"testing"

	"whichlink/graphs"
)

// Whatever was kept of the order before, it is that of sorting and filtering all links anew.
func TestLinksInOrder(t *testing.T) {
	snapshots := []*Snapshot{sick(t), captured(t), fatTree(t), well(t)}
	st := newStage(t, snapshots[0], 120, 40)
	st.press("3")
	l := st.linkTable()
	held := func(after string) {
		t.Helper()
		s, pinned := st.shown, st.shown.pinned()
		f, c := s.Picture.Fabric, linkColumns()[l.by]
		value := func(id graphs.LinkID) float64 {
			r := l.row(s, id)
			v := c.value(&r)
			if math.IsNaN(v) {
				v = -1
			}
			return v
		}
		var want []graphs.LinkID
		for id := range graphs.LinkID(f.NumLinks()) {
			r := l.row(s, id)
			text := strings.ToLower(f.LinkName(id)) + " " + strings.ReplaceAll(r.state(), "ok", "")
			if l.filter.match(text, func(string) (float64, bool) { return float64(r.forward.Suspicion), true }) {
				want = append(want, id)
			}
		}
		slices.SortStableFunc(want, func(a, b graphs.LinkID) int {
			o := cmp.Compare(value(b), value(a))
			if l.turned {
				o = -o
			}
			return cmp.Or(rankOf(pinned[a])-rankOf(pinned[b]), o)
		})
		if !slices.Equal(l.order, want) {
			t.Fatalf("after %s: %d links in the order %v, want %v", after, len(l.order), l.order, want)
		}
	}
	filters := []string{"", "LEAF1", "leaf1 !spine1", "swp2", "loss", "dark", "!dark", "p>0.5", "ok"}
	for _, s := range snapshots {
		st.source.s = s
		st.tick(stillFor + 1)
		held("new counts")
		for range linkColumns() {
			for _, k := range []string{"s", "R", "w"} {
				st.press(k)
				held(k)
			}
			for _, q := range filters {
				l.setFilter(q, st.shown)
				held("/" + q)
			}
			l.setFilter("", st.shown)
		}
		if _, err := st.pinThis(s.Fabric.LinkName(graphs.LinkID(s.Fabric.NumLinks() - 1))); err != nil {
			t.Fatal(err)
		}
		st.tick(stillFor + 1)
		held("a pin")
	}
}
