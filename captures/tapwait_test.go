package captures

import (
	"math/rand/v2"
	"testing"
)

// TestWaitingRoom compares a room with a plain map and list while packets come and go, a few keys long enough to be asked for again.
func TestWaitingRoom(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var r waitingRoom
	line, at := []uint64{}, map[uint64]int64{}
	for step := range int64(200_000) {
		key := uint64(rng.IntN(5000))
		w := r.find(key)
		since, waits := at[key]
		if (w != nil) != waits || w != nil && w.since != since {
			t.Fatalf("step %d: key %d found %+v, want %d %v", step, key, w, since, waits)
		}
		if w == nil {
			r.push(waiting{key: key, since: step})
			line, at[key] = append(line, key), step
		}
		for len(line) > 0 && rng.IntN(3000) < len(line) {
			if got := r.remove(); got.key != line[0] || got.since != at[line[0]] {
				t.Fatalf("step %d: took out %+v, want %d", step, got, line[0])
			}
			delete(at, line[0])
			line = line[1:]
		}
		if int(r.used) != len(line) {
			t.Fatalf("step %d: %d wait, want %d", step, r.used, len(line))
		}
	}
}
