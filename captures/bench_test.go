//go:build unix

package captures

import (
	"bytes"
	"os"
	"runtime"
	"runtime/debug"
	"testing"

	"whichlink/captures/files"
)

// BenchmarkAnalyze reads generated captures with everything on. The figures are of processor time.
func BenchmarkAnalyze(b *testing.B) {
	program := generator(b)
	for name, arguments := range map[string][]string{
		"full": {"-size", "1000000000", "-tcp", "1500", "-roce", "500", "-loss", "0.01", "-idle", "150000000"},
		"snap": {"-size", "200000000", "-snap", "96", "-tcp", "1500", "-roce", "500", "-loss", "0.01", "-idle", "150000000"},
		"many": {"-size", "200000000", "-snap", "96", "-tcp", "50000", "-roce", "10000", "-loss", "0.01", "-idle", "2000000000"},
	} {
		b.Run(name, func(b *testing.B) {
			data, err := os.ReadFile(generate(b, program, 1, arguments...))
			if err != nil {
				b.Fatal(err)
			}
			packets, flows := int64(0), 0
			var last *Analyzer
			var before, after runtime.MemStats
			debug.FreeOSMemory()
			runtime.ReadMemStats(&before)
			begun := cpuTime(b)
			for b.Loop() {
				f, err := files.Open(name, bytes.NewReader(data), 0)
				if err != nil {
					b.Fatal(err)
				}
				a := New(Config{})
				feed(b, a, f)
				r := a.Report(&f.Stats)
				packets += r.Packets
				flows = r.Flows
				last = a
			}
			seconds := (cpuTime(b) - begun).Seconds()
			runtime.GC()
			runtime.ReadMemStats(&after)
			runtime.KeepAlive(data)
			runtime.KeepAlive(last)
			b.ReportMetric(float64(packets)/seconds/1e6, "Mpackets/cpu-s")
			b.ReportMetric(float64(flows), "flows")
			b.ReportMetric(float64(len(data))*float64(b.N)/seconds/1e9, "GB/cpu-s")
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(1<<20), "MiB-held")
		})
	}
}
