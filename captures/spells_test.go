package captures

import (
	"bytes"
	"math/rand/v2"
	"os"
	"testing"

	"whichlink/captures/files"
	"whichlink/internal/evidence"
)

// TestEvidenceWindows reads a generated capture with losses of all kinds: the records of a flow follow each other in time, and add up to what is told of it as a
// whole.
func TestEvidenceWindows(t *testing.T) {
	a, r := analyse(t, Config{}, permitted+"/generated.pcap.gz")
	type sums struct{ records, packets, data, before, after, retransmitted int }
	got, want := map[evidence.Flow]sums{}, map[evidence.Flow]sums{}
	last := map[evidence.Flow]int64{}
	several := 0
	err := a.Evidence(r, "a", func(rec *evidence.Record) error {
		if rec.Kind != evidence.KindFlow || rec.LostBefore == nil {
			return nil
		}
		x := got[*rec.Flow]
		x.records++
		if x.records == 2 {
			several++
		}
		x.packets += *rec.Packets
		x.data += *rec.Data
		x.before += *rec.LostBefore
		x.after += *rec.LostAfter
		if rec.Retransmitted != nil {
			x.retransmitted += *rec.Retransmitted
		}
		got[*rec.Flow] = x
		if from := rec.Start().UnixNano(); from < last[*rec.Flow]-1_000_000 || rec.WindowMS < 1 {
			t.Errorf("%v: a window of %d ms begins at %d, the one before ends at %d", rec.Flow, rec.WindowMS, from, last[*rec.Flow])
		}
		last[*rec.Flow] = rec.Time.UnixNano()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	err = a.EachFlow(func(f *FlowReport) error {
		if f.LostBefore != nil {
			x := want[f.Flow]
			want[f.Flow] = sums{got[f.Flow].records, x.packets + f.Packets, x.data + *f.Data, x.before + *f.LostBefore, x.after + *f.LostAfter, x.retransmitted + *f.Retransmitted}
		}
		return nil
	})
	if err != nil || several < 20 {
		t.Fatal(err, several)
	}
	for f, w := range want {
		if got[f] != w {
			t.Errorf("%v: %+v, want %+v", f, got[f], w)
		}
	}
}

// TestSpellBook notes more losses of more flows than it holds: none is lost, and what is held stays bounded.
func TestSpellBook(t *testing.T) {
	var b spellBook
	rng := rand.New(rand.NewPCG(1, 2))
	sums := map[flowHalf]int{}
	for i := range uint32(400_000) {
		h := flowHalf{rng.Uint32N(3000), rng.IntN(2)}
		now := int64(i) * 10_000_000
		b.add(h, spell{from: now, to: now, behind: i, passed: i, after: 1})
		sums[h]++
	}
	held := 0
	for h, n := range sums {
		list := b.of(h, 0, n)
		held += len(list)
		total := 0
		for i, x := range list {
			total += int(x.after)
			if i > 0 && x.from <= list[i-1].to {
				t.Fatalf("%v: spells overlap", h)
			}
		}
		if total != n || len(list) > maxSpells {
			t.Fatalf("%v: %d of %d in %d spells", h, total, n, len(list))
		}
	}
	if held != b.n || held > maxAllSpells {
		t.Errorf("%d held, counted %d", held, b.n)
	}
}

// setBack is a capture whose clock is set back by half a second at a packet.
type setBack struct {
	files.Source
	n, at int
}

func (s *setBack) Next(p *files.Packet) error {
	err := s.Source.Next(p)
	if s.n++; s.n >= s.at {
		p.Time -= 5e8
	}
	return err
}

// TestClockSetBack: whatever is found where the clock of a capture was set back, wherever that is, is told by records that can be read.
func TestClockSetBack(t *testing.T) {
	for at := range 40 {
		in, err := os.Open(permitted + "/zeek__retransmit-fast009.pcap")
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		f, err := files.Open("a", in, 0)
		if err != nil {
			t.Fatal(err)
		}
		a := New(Config{})
		feed(t, a, &setBack{Source: f, at: at})
		var text bytes.Buffer
		n := 0
		err = a.Evidence(a.Report(&f.Stats), "a", func(r *evidence.Record) error {
			n++
			return evidence.Write(&text, r)
		})
		if err != nil {
			t.Fatal(err)
		}
		read := 0
		if _, err := evidence.Read(&text, "a", func(*evidence.Record) bool { read++; return true }); err != nil || read != n || n < 3 {
			t.Errorf("at %d: %d records of %d can be read: %v", at, read, n, err)
		}
	}
}
