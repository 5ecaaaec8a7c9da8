package captures

import (
	"context"
	"slices"
	"testing"

	"whichlink/captures/files"
	"whichlink/internal/evidence"
)

// TestBlackHole takes whole flows out of generated pairs of captures: what got no answer and must have passed both taps is lost between them, what takes another
// way, or is filtered, or drawn by lot, is not.
func TestBlackHole(t *testing.T) {
	always := func(evidence.Flow, int) bool { return true }
	port := func(p *files.Packet) (port uint16, back bool) {
		from, to := uint16(p.Data[20])<<8|uint16(p.Data[21]), uint16(p.Data[22])<<8|uint16(p.Data[23])
		if from == 2000 {
			return to, true
		}
		return from, false
	}
	a, b, _ := playTaps(2, true)
	for _, c := range []struct {
		name    string
		gone    func(port uint16, back bool, tap int) bool
		passage Passage
		want    []uint16 // ports of the directions that vanished
	}{
		{"nothing", func(uint16, bool, int) bool { return false }, nil, nil},
		{"two black holes", func(port uint16, back bool, tap int) bool { return port < 10_002 && (back || tap == 1) }, nil, []uint16{10_000, 10_001}},
		{"another way of some", func(port uint16, _ bool, tap int) bool { return port < 10_020 && tap == 1 }, nil, nil},
		{"another way of some, and one unanswered", func(port uint16, back bool, tap int) bool {
			return port < 10_020 && tap == 1 || port == 10_000 && back
		}, nil, nil},
		{"another way there, one way back", func(port uint16, back bool, tap int) bool { return port < 10_020 && tap == 1 && !back }, nil, nil},
		{"all black holes but five, paths unknown", func(port uint16, back bool, tap int) bool { return port < 10_035 && (back || tap == 1) }, nil, nil},
		{"six black holes, paths known", func(port uint16, back bool, tap int) bool { return port < 10_006 && (back || tap == 1) }, always,
			[]uint16{10_000, 10_001, 10_002, 10_003, 10_004, 10_005}},
		{"lost on the way back, paths known", func(port uint16, back bool, tap int) bool { return port == 10_003 && back && tap == 0 }, always, []uint16{10_003}},
		{"drawn by lot, paths known", func(port uint16, _ bool, tap int) bool { return port%4 > 0 && tap == 1 }, always, nil},
		{"one way, paths known", func(port uint16, back bool, tap int) bool { return back || port < 10_003 && tap == 1 }, always, []uint16{10_000, 10_001, 10_002}},
		{"one way and drawn by lot, paths known", func(port uint16, back bool, tap int) bool { return back || port%2 > 0 && tap == 1 }, always, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			drop := func(list []files.Packet, tap int) []files.Packet {
				return slices.DeleteFunc(slices.Clone(list), func(p files.Packet) bool {
					n, back := port(&p)
					return c.gone(n, back, tap)
				})
			}
			r, findings, err := CompareTaps(context.Background(), tapOf("a", drop(a, 0)), tapOf("b", drop(b, 1)), 0, c.passage, nil)
			if err != nil {
				t.Fatal(err)
			}
			var got []uint16
			for _, f := range r.Flows {
				if f.Matched == 0 {
					got = append(got, max(f.Flow.SrcPort, f.Flow.DstPort))
					if f.Lost != max(f.Packets[0], f.Packets[1]) && f.Lost < 500 {
						t.Errorf("%+v", f)
					}
				}
			}
			slices.Sort(got)
			holes := 0
			for _, f := range findings {
				if f.Finding == "tap-black-hole" {
					holes++
				}
			}
			if !slices.Equal(got, c.want) || holes != len(c.want) {
				t.Errorf("%v vanished and %d findings, want %v", got, holes, c.want)
			}
		})
	}
}
