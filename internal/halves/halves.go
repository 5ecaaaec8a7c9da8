// Package halves does work on both halves of something at the same time. What comes of it must not depend on that: callers keep the results of the
// halves apart and join them in their order.
package halves

import (
	"sync"
	"sync/atomic"
)

// least is the number from which on a second goroutine pays.
const least = 4096

// Do calls use with the numbers from (included) to to (excluded) of each half of n, and waits for both. A small n is all in half 0.
func Do(n int, use func(half, from, to int)) {
	if n < least {
		use(0, 0, n)
		return
	}
	var wait sync.WaitGroup
	wait.Go(func() { use(1, n/2, n) })
	use(0, 0, n/2)
	wait.Wait()
}

// Each calls use with each number below n, two at a time, and waits for all. It is for work of which a single piece is worth a goroutine.
func Each(n int, use func(i int)) {
	if n == 0 {
		return
	}
	var next atomic.Int64
	some := func() {
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			use(i)
		}
	}
	var wait sync.WaitGroup
	if n > 1 {
		wait.Go(some)
	}
	some()
	wait.Wait()
}
