package halves

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

func TestDo(t *testing.T) {
	for _, n := range []int{0, 1, least - 1, least, least + 1} {
		seen := make([]int, n)
		var first [2]int
		Do(n, func(half, from, to int) {
			first[half] = from
			for i := from; i < to; i++ {
				seen[i]++
			}
		})
		for i, times := range seen {
			if times != 1 {
				t.Fatalf("%d of %d done %d times", i, n, times)
			}
		}
		if first[0] != 0 || first[1] < 0 || first[1] > n {
			t.Errorf("%d: halves begin at %v", n, first)
		}
	}
}

func TestEach(t *testing.T) {
	for _, n := range []int{0, 1, 2, 1000} {
		seen := make([]int, n)
		Each(n, func(i int) { seen[i]++ })
		for i, times := range seen {
			if times != 1 {
				t.Fatalf("%d of %d done %d times", i, n, times)
			}
		}
	}
}

func TestBriefly(t *testing.T) {
	for _, n := range []int{0, 1, brief - 1, brief, brief + 1} {
		seen := make([]int, n)
		Briefly(n, func(_, from, to int) {
			for i := from; i < to; i++ {
				seen[i]++
			}
		})
		for i, times := range seen {
			if times != 1 {
				t.Fatalf("%d of %d done %d times", i, n, times)
			}
		}
	}
}

func TestShared(t *testing.T) {
	for _, n := range []int{0, 1, few, 2*few + 1, 10000} {
		seen := make([]int, n)
		use := func(i int) { seen[i]++ }
		Shared(n, use, use)
		for i, times := range seen {
			if times != 1 {
				t.Fatalf("%d of %d done %d times", i, n, times)
			}
		}
	}
}

// The second core is lent to one at a time, whoever waits for it for long sleeps, and it is there again after it went to sleep.
func TestBoth(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	for _, long := range []time.Duration{0, 20 * time.Millisecond} {
		for range 3 {
			var began, ended atomic.Bool
			ok := Both(func() {
				for long > 0 && !began.Load() { // else it would be done here
				}
				if Both(func() { t.Error("lent twice") }, func() {}) {
					t.Error("lent twice")
				}
			}, func() {
				began.Store(true)
				time.Sleep(long)
				ended.Store(true)
			})
			if !ok || !ended.Load() {
				t.Fatalf("lent: %v, done: %v", ok, ended.Load())
			}
			time.Sleep(2 * awake)
		}
	}
	runtime.GOMAXPROCS(1)
	if Both(func() {}, func() {}) {
		t.Error("lent what is not there")
	}
}
