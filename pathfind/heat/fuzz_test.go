package heat_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"whichlink/graphs"
	"whichlink/graphs/generate"
	"whichlink/pathfind"
	"whichlink/pathfind/heat"
)

// FuzzSolve: whatever is read from counters and matrices, there are shares and probabilities, and the same for the same records in another order.
func FuzzSolve(f *testing.F) {
	leaves, err := generate.LeafSpine(generate.LeafSpineConfig{Leaves: 3, Spines: 2, Hosts: 2})
	must(f, leaves, err)
	random, err := generate.RandomRegular(generate.RandomRegularConfig{Switches: 8, Degree: 3, Hosts: 1, Seed: 1})
	must(f, random, err)
	one := binary.LittleEndian.AppendUint64(nil, math.Float64bits(0.9*speed))
	f.Add(uint8(0), slices.Repeat(one, 24), []byte{}, []byte{5, 9, 100, 5, 10, 200}, []byte{0})
	f.Add(uint8(1), slices.Repeat(one, 40), []byte{100, 200}, []byte{}, []byte{1, 2})
	f.Add(uint8(3), []byte{}, one, []byte{}, []byte{})
	for _, x := range []float64{1e308, 1e-308, 1e9} {
		much := binary.LittleEndian.AppendUint64(slices.Clone(one), math.Float64bits(x))
		f.Add(uint8(2), slices.Repeat(much, 12), much, []byte{6, 9, 127, 6, 10, 128, 8, 11, 200}, []byte{3, 5})
		f.Add(uint8(3), slices.Repeat(much, 20), []byte{}, []byte{}, []byte{2, 8})
	}
	specs := []string{"ecmp", "su:2", "ksp:3", "spraypoint:p=2,h=1"}
	for seed := range uint64(40) { // where paths are not the shortest, what is followed may lead back
		rng, loads := rand.New(rand.NewPCG(seed, 5)), []byte(nil)
		for range random.NumArcs() {
			loads = binary.LittleEndian.AppendUint64(loads, math.Float64bits(speed*rng.Float64()))
		}
		f.Add(uint8(1|seed%4<<2), loads, []byte{}, []byte{}, []byte{})
	}
	f.Fuzz(func(t *testing.T, which uint8, loads, speeds, flows, down []byte) {
		fab := []*graphs.Fabric{leaves, random}[which%2]
		spec, err := pathfind.ParseSpec(specs[which>>2%4])
		must(t, nil, err)
		model, err := pathfind.New(fab, spec, pathfind.Options{})
		must(t, nil, err)
		in := heat.Input{Model: model, Load: numbers(loads)}
		if len(speeds) > 0 {
			in.Speed = numbers(speeds)
		}
		for ; len(flows) >= 3; flows = flows[3:] {
			rate := math.Pow(2, float64(int8(flows[2]))*4)
			in.Matrix = append(in.Matrix, heat.Flow{Src: graphs.NodeID(flows[0]) - 1, Dst: graphs.NodeID(flows[1]) - 1, Rate: rate})
		}
		for _, l := range down[:min(len(down), 4)] {
			in.Down = append(in.Down, graphs.LinkID(l)-1)
		}
		if which&2 != 0 {
			in.Planned = in.Model
			without := func(but graphs.LinkID) pathfind.Model {
				return pathfind.NewECMPWithout(fab, func(l graphs.LinkID) bool { return l != but && slices.Contains(in.Down, l) })
			}
			in.Model, in.With = without(graphs.None), without
		}
		r := heat.Solve(in)
		checkResult(t, r)
		slices.Reverse(in.Matrix)
		slices.Reverse(in.Down)
		if again := heat.Solve(in); fmt.Sprintf("%+v", again) != fmt.Sprintf("%+v", r) {
			t.Errorf("in another order:\n%+v\n%+v", again, r)
		}
	})
}

func numbers(b []byte) (list []float64) {
	for ; len(b) >= 8; b = b[8:] {
		list = append(list, math.Float64frombits(binary.LittleEndian.Uint64(b)))
	}
	return list
}

func checkResult(t *testing.T, r *heat.Result) {
	t.Helper()
	if !(r.Scaled > 0) || math.IsInf(r.Scaled, 1) || !(r.Median >= 0) {
		t.Errorf("scaled by %g, median %g", r.Scaled, r.Median)
	}
	for i := range r.Hot {
		h := &r.Hot[i]
		for _, x := range []float64{h.Expected, h.Even, h.Use()} {
			if !(x >= 0) || math.IsInf(x, 1) {
				t.Errorf("a load of %g: %+v", x, h)
			}
		}
		sum := 0.0
		for _, p := range h.Pairs {
			sum += p.Share
			if !(p.Share >= 0) || !(p.Load >= 0) {
				t.Errorf("a share of %g: %+v", p.Share, h)
			}
		}
		for _, x := range []float64{h.Probability, h.Unexplained, sum} {
			if !(x >= 0 && x < 1+1e-9) {
				t.Errorf("a share of %g: %+v", x, h)
			}
		}
	}
}
