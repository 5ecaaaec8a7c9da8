package generate

import (
	"testing"
	"time"
)

func TestRNGScratch(t *testing.T) {
	for _, c := range []RNGConfig{
		{Routers: 1000, Degree: 64, Seed: 1},
		{Routers: 32, Degree: 8, Seed: 1},
		{Routers: 16, Degree: 4, Seed: 1},
		{Routers: 40, Degree: 8, Seed: 1, Rooms: 2},
		{Routers: 40, Degree: 9, Seed: 1, Rooms: 3},
		{Routers: 41, Degree: 9, Seed: 1, Rooms: 3},
		{Routers: 100, Degree: 64, Seed: 1, Rooms: 4},
		{Routers: 100, Degree: 63, Seed: 1, Rooms: 4},
		{Routers: 1000, Degree: 65, Seed: 1},
		{Routers: 1000, Degree: 66, Seed: 1, Rooms: 7},
		{Routers: 1000, Degree: 64, Seed: 1, Boxes: 75},
		{Routers: 1000, Degree: 64, Seed: 1, Boxes: 100},
		{Routers: 1000, Degree: 64, Seed: 1, Rooms: 1},
		{Routers: 1000, Degree: 64, Seed: 1, Breakout: 8},
		{Routers: 1000, Degree: 64, Seed: 1, Breakout: 1},
		{Routers: 4, Degree: 3, Seed: 1},
		{Routers: 4, Degree: 3, Seed: 1, RPorts: 8},
		{Routers: 64, Degree: 4, Seed: 1, Rooms: 2},
		{Routers: 4000, Degree: 64, Seed: 1, Rooms: 10},
	} {
		start := time.Now()
		p, err := RNG(c)
		if err != nil {
			t.Logf("%+v: %v %v", c, err, time.Since(start))
			continue
		}
		t.Logf("%+v %v\n %+v\n %v", c, time.Since(start), p.Tally(), p.path(0))
	}
}
