package probes

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// hopOf makes a hop of address 10.0.0.n.
func hopOf(n byte, sent, answered int) Hop {
	h := Hop{TTL: int(n), Sent: sent, Answered: answered}
	if answered > 0 {
		h.Responders = []Responder{{Addr: netip.AddrFrom4([4]byte{10, 0, 0, n}), Answered: answered}}
	}
	return h
}

func TestClassify(t *testing.T) {
	clean := Sight{Hops: []Hop{hopOf(1, 50, 50), hopOf(2, 50, 50), hopOf(3, 50, 50)}, Sent: 1000, Split: true}
	split := hopOf(2, 50, 25)
	split.Answered = 50
	split.Responders = append(split.Responders, Responder{Addr: netip.MustParseAddr("10.0.1.2"), Answered: 25})
	for _, c := range []struct {
		name    string
		flow    Sight
		control []Sight
		want    []Class
	}{
		{"healthy", clean, nil, []Class{ClassOK, ClassOK, ClassOK}},
		{"one silent hop", Sight{Hops: []Hop{hopOf(1, 3, 3), hopOf(2, 3, 0), hopOf(3, 3, 3)}, Sent: 100}, []Sight{clean},
			[]Class{ClassOK, ClassSilent, ClassOK}},
		{"all silent, the destination answers", Sight{Hops: []Hop{hopOf(1, 3, 0), hopOf(2, 3, 0)}, Sent: 100}, nil,
			[]Class{ClassSilent, ClassSilent}},
		{"a silent hop on a lossy path is still silent", Sight{Hops: []Hop{hopOf(1, 50, 50), hopOf(2, 50, 0)}, Sent: 1000, Lost: 50, LostForward: 50, Split: true}, nil,
			[]Class{ClassOK, ClassSilent}},
		{"nothing beyond answers", Sight{Hops: []Hop{hopOf(1, 3, 3), hopOf(2, 3, 0), hopOf(3, 3, 0)}, Sent: 100, Lost: 100}, nil,
			[]Class{ClassOK, ClassUnresolved, ClassUnresolved}},
		{"loss from the second hop on", Sight{Hops: []Hop{hopOf(1, 100, 100), hopOf(2, 100, 92), hopOf(3, 100, 91)}, Sent: 1000, Lost: 80, LostForward: 80, Split: true},
			[]Sight{clean}, []Class{ClassOK, ClassLossy, ClassLossy}},
		{"the same without a control", Sight{Hops: []Hop{hopOf(1, 100, 100), hopOf(2, 100, 92), hopOf(3, 100, 91)}, Sent: 1000, Lost: 80, LostForward: 80, Split: true},
			nil, []Class{ClassOK, ClassLossy, ClassLossy}},
		{"one loss alone is too little", Sight{Hops: []Hop{hopOf(1, 100, 100), hopOf(2, 100, 99), hopOf(3, 100, 99)}, Sent: 100, Lost: 1, LostForward: 1, Split: true},
			[]Sight{clean}, []Class{ClassOK, ClassUnresolved, ClassUnresolved}},
		{"rate limit at the first hop", Sight{Hops: []Hop{hopOf(1, 100, 20), hopOf(2, 100, 100)}, Sent: 1000}, nil,
			[]Class{ClassRateLimited, ClassOK}},
		{"rate limit at the last hop before the destination", Sight{Hops: []Hop{hopOf(1, 100, 100), hopOf(2, 100, 20)}, Sent: 1000},
			[]Sight{{Hops: []Hop{hopOf(1, 100, 100), hopOf(2, 100, 25)}, Sent: 1000}}, []Class{ClassOK, ClassRateLimited}},
		{"rate limits everywhere", Sight{Hops: []Hop{hopOf(1, 100, 20), hopOf(2, 100, 22), hopOf(3, 100, 18)}, Sent: 1000}, nil,
			[]Class{ClassRateLimited, ClassRateLimited, ClassRateLimited}},
		{"answers of one hop lost on their way back", Sight{Hops: []Hop{hopOf(1, 100, 100), hopOf(2, 100, 60), hopOf(3, 100, 100)}, Sent: 1000}, []Sight{clean},
			[]Class{ClassOK, ClassReplyPath, ClassOK}},
		{"loss on the way back end to end", Sight{Hops: []Hop{hopOf(1, 100, 100), hopOf(2, 100, 92), hopOf(3, 100, 91)}, Sent: 1000, Lost: 80, LostBack: 80, Split: true},
			[]Sight{clean}, []Class{ClassOK, ClassReplyPath, ClassReplyPath}},
		{"loss, and rate limits that hide it", Sight{Hops: []Hop{hopOf(1, 100, 94), hopOf(2, 100, 95)}, Sent: 1000, Lost: 50, LostForward: 50, Split: true},
			[]Sight{{Hops: []Hop{hopOf(1, 100, 95), hopOf(2, 100, 93)}, Sent: 1000}}, []Class{ClassUnresolved, ClassUnresolved}},
		{"spread packet by packet", Sight{Hops: []Hop{hopOf(1, 50, 50), split, hopOf(3, 50, 50)}, Sent: 100}, nil,
			[]Class{ClassOK, ClassBalanced, ClassOK}},
		{"the destination is silent", Sight{Hops: []Hop{hopOf(1, 100, 20), hopOf(2, 100, 100)}}, nil,
			[]Class{ClassRateLimited, ClassOK}},
		{"the last that answers, of a silent destination", Sight{Hops: []Hop{hopOf(1, 100, 100), hopOf(2, 100, 90)}}, nil,
			[]Class{ClassOK, ClassUnresolved}},
		{"never asked", Sight{Hops: []Hop{{TTL: 1}}, Sent: 10}, nil, []Class{ClassUnresolved}},
		{"a few unanswered by chance", Sight{Hops: []Hop{hopOf(1, 3, 2), hopOf(2, 3, 3)}, Sent: 10}, nil, []Class{ClassOK, ClassOK}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, Classify(c.flow, c.control)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestMore(t *testing.T) {
	for _, c := range []struct {
		a, b tallied
		want bool
	}{
		{tallied{10, 0}, tallied{10, 0}, false},
		{tallied{10, 5}, tallied{10, 5}, false},
		{tallied{10, 1}, tallied{20000, 0}, true},
		{tallied{1, 1}, tallied{10, 0}, false},
		{tallied{100, 80}, tallied{100, 10}, true},
		{tallied{100, 10}, tallied{100, 80}, false},
		{tallied{0, 0}, tallied{100, 80}, false},
	} {
		if got := more(c.a, c.b); got != c.want {
			t.Errorf("more(%v, %v) = %v", c.a, c.b, got)
		}
	}
}
