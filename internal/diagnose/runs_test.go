package diagnose

import (
	"testing"
	"time"
)

// TestTogether: where a link goes down, flows lose their runs at the same moments, and where each has runs of its own they do not, however many meet by chance.
func TestTogether(t *testing.T) {
	for _, c := range []struct {
		name  string
		every time.Duration // between the runs of a flow
		apart time.Duration // by how much the runs of each flow are later than those of the one before
		want  bool
	}{
		{"outages", 4 * time.Second, 0, true},
		{"often", time.Second, 0, true},
		{"of their own", 4 * time.Second, 700 * time.Millisecond, false},
		{"of their own, often", time.Second, 230 * time.Millisecond, false},
	} {
		p := newPlay(t, 40)
		s := p.store
		s.flowing = stretch{p.start, p.start.Add(20 * time.Second)}
		for i := range 40 {
			l := &flowLog{}
			for w := range 20 {
				e := echo{start: p.start.Add(time.Duration(w) * time.Second), sent: 100}
				e.end = e.start.Add(time.Second)
				for at := time.Duration(i) * c.apart % c.every; at < 20*time.Second; at += c.every {
					for k := range 10 {
						if ms := int((at + time.Duration(k)*10*time.Millisecond).Milliseconds()) - 1000*w; ms >= 0 && ms < 1000 {
							e.lost++
							e.lostAt = append(e.lostAt, ms)
						}
					}
				}
				l.echoes = append(l.echoes, e)
			}
			s.order = append(s.order, l)
		}
		if got := s.together(); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
