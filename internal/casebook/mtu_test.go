package casebook_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"whichlink/internal/diagnose"
	"whichlink/internal/evidence"
	"whichlink/internal/lab"
	"whichlink/internal/lab/labtest"
)

// TestMTU plays case 20: a link drops packets of more than 1400 bytes both ways. Who measures with short echoes sees nothing; who does so once more with long ones sees it from both.
func TestMTU(t *testing.T) {
	labtest.Need(t)
	for _, name := range []string{"leaf-spine 4x4", "random 16x4"} {
		sh := shapes[slices.IndexFunc(shapes, func(s shape) bool { return s.name == name })]
		f, err := sh.make(1)
		if err != nil {
			t.Fatal(err)
		}
		l, err := lab.New(t.Context(), lab.Config{Fabric: f, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		s := &stage{t: t, rng: rand.New(rand.NewPCG(1, 20)), lab: l, f: l.Fabric()}
		link := s.f.LinkName(s.fabricLink())
		s.breakIt("mtu", link+" 1400", lab.FaultOptions{})
		store := diagnose.NewStore(s.f, diagnose.Config{})
		for _, size := range []int{0, 1500} {
			cfg := diagnose.WatchConfig{Fabric: s.f, Rate: 500, Size: size, Seed: 1, Record: func(r *evidence.Record) { store.Add(r) }}
			for _, h := range s.f.Hosts() {
				cfg.Hosts = append(cfg.Hosts, diagnose.WatchHost{Node: h, Reflect: true, Open: func(open func() error) error { return l.Do(h, open) }})
			}
			w, err := diagnose.NewWatch(cfg)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
			err = w.Run(ctx)
			cancel()
			if err != nil {
				t.Fatal(err)
			}
			d := store.Diagnose()
			if size == 0 {
				if d.Verdict == diagnose.Suspects {
					t.Errorf("%s: short echoes lose packets: %s", name, d.Text())
				}
				continue
			}
			if x := d.Suspects; len(x) == 0 || x[0].Link != link || x[0].Symptom != diagnose.MTU || x[0].Probability < diagnose.Named || len(x) > 1 && x[1].Probability >= diagnose.Named {
				t.Errorf("%s: not %s: %s", name, link, d.Text())
			}
		}
		l.Close()
	}
}
