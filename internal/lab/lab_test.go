package lab

import (
	"context"
	"testing"
	"time"

	"whichlink/graphs/generate"
)

func TestUp(t *testing.T) {
	needLab(t)
	for _, k := range []int{4, 8} {
		f, err := generate.FatTree(generate.FatTreeConfig{K: k})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		l, err := New(context.Background(), Config{Fabric: f, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		t.Log(f, time.Since(start))
		start = time.Now()
		l.Close()
		t.Log(time.Since(start))
	}
}
