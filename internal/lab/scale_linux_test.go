package lab

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"whichlink/graphs/generate"
)

// BenchmarkUp makes and removes whole fabrics. It prints how long the first took to come up and what memory the machine had less
// with it; what the kernel gives back after Close comes later.
func BenchmarkUp(b *testing.B) {
	needLab(b)
	for _, k := range []int{4, 8, 12} {
		f, err := generate.FatTree(generate.FatTreeConfig{K: k})
		if err != nil {
			b.Fatal(err)
		}
		name := fmt.Sprintf("%dswitches-%dhosts-%dlinks", len(f.Switches()), len(f.Hosts()), f.NumLinks())
		b.Run(name, func(b *testing.B) {
			var up, down time.Duration
			var memory int64
			n := 0
			for b.Loop() {
				before := available(b)
				start := time.Now()
				l, err := New(context.Background(), Config{Fabric: f})
				if err != nil {
					b.Fatal(err)
				}
				up += time.Since(start)
				memory = max(memory, before-available(b))
				start = time.Now()
				l.Close()
				down += time.Since(start)
				n++
			}
			b.ReportMetric(up.Seconds()/float64(n), "s-up")
			b.ReportMetric(down.Seconds()/float64(n), "s-down")
			b.ReportMetric(float64(memory)/(1<<20), "MiB")
		})
	}
}

// available reads how much memory is to be had on the machine, in bytes.
func available(tb testing.TB) int64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		tb.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		if rest, ok := bytes.CutPrefix(line, []byte("MemAvailable:")); ok {
			kib, err := strconv.ParseInt(string(bytes.Fields(rest)[0]), 10, 64)
			if err != nil {
				tb.Fatal(err)
			}
			return kib << 10
		}
	}
	tb.Fatal("/proc/meminfo has no MemAvailable")
	return 0
}
