//go:build unix

package captures

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"
)

// TestMutants analyses captures in which bytes were turned, cut out, doubled or put in: whatever a file says, there is no panic,
// no more than 64 MiB of memory, and an answer within a second. WHICHLINK_MUTANTS sets how many are tried.
func TestMutants(t *testing.T) {
	mutants := 3000
	if n, err := strconv.Atoi(os.Getenv("WHICHLINK_MUTANTS")); err == nil {
		mutants = n
	}
	if testing.Short() {
		mutants = 300
	}
	names, err := filepath.Glob(permitted + "/*.pcap*")
	if err != nil || len(names) == 0 {
		t.Fatal("no captures", err)
	}
	// Those that may not be handed on, too, where they are.
	others, _ := filepath.Glob(filepath.Join(shared, "data", "captures", "*.pcap*"))
	names = append(names, others...)
	var seeds [][]byte
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if len(data) <= 50_000 {
			seeds = append(seeds, data)
		}
	}
	rng := rand.New(rand.NewPCG(5, 7))
	var before, after runtime.MemStats
	for i := range mutants {
		seed := seeds[rng.IntN(len(seeds))]
		data := mutate(rng, seed)
		runtime.ReadMemStats(&before)
		begun := cpuTime(t)
		r := analyseBytes(data)
		_ = r.Text()
		took := cpuTime(t) - begun
		runtime.ReadMemStats(&after)
		// All that was ever asked for is an upper bound of what was held at once.
		if asked := after.TotalAlloc - before.TotalAlloc; asked > 64<<20 {
			t.Errorf("mutant %d: %d MiB", i, asked>>20)
		}
		if took > time.Second {
			t.Errorf("mutant %d: %v", i, took)
		}
	}
}

// mutate changes a few places of a file.
func mutate(rng *rand.Rand, seed []byte) []byte {
	data := append([]byte{}, seed...)
	for range 1 + rng.IntN(8) {
		if len(data) == 0 {
			return data
		}
		at := rng.IntN(len(data))
		n := min(1+rng.IntN(16), len(data)-at)
		switch rng.IntN(7) {
		case 0, 1:
			data[at] ^= 1 << rng.IntN(8)
		case 2:
			data[at] = []byte{0, 0xff, 0x7f, 0x80}[rng.IntN(4)]
		case 3:
			for i := range n {
				data[at+i] = byte(rng.Uint32())
			}
		case 4:
			data = append(data[:at], data[at+n:]...)
		case 5:
			data = append(data[:at:at], append(append([]byte{}, data[at:at+n]...), data[at:]...)...)
		case 6:
			if rng.IntN(4) == 0 {
				data = data[:at]
			}
		}
	}
	return data
}
