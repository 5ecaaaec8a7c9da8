// Package halves does work on both halves of something at the same time. What comes of it must not depend on that: callers keep the results of the
// halves apart and join them in their order.
package halves

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// least is the number from which on a second goroutine pays.
const least = 4096

// Do calls use with the numbers from (included) to to (excluded) of each half of n, and waits for both. A small n is all in half 0.
func Do(n int, use func(half, from, to int)) {
	if n < least {
		use(0, 0, n)
		return
	}
	both(func() { use(0, 0, n/2) }, func() { use(1, n/2, n) })
}

// Each calls use with each number below n, two at a time, and waits for all. It is for work of which a single piece is worth a goroutine.
func Each(n int, use func(i int)) {
	if n <= 1 {
		for i := range n {
			use(i)
		}
		return
	}
	var next atomic.Int64
	some := func() {
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			use(i)
		}
	}
	both(some, some)
}

// brief is the number from which on the second core pays while it is awake.
const brief = 256

// Briefly is Do for pieces of work that are soon done, of which many follow each other. What is worth two halves is always done as two,
// which it reports.
func Briefly(n int, use func(half, from, to int)) bool {
	if n < brief {
		use(0, 0, n)
		return false
	}
	if !Both(func() { use(0, 0, n/2) }, func() { use(1, n/2, n) }) {
		use(0, 0, n/2)
		use(1, n/2, n)
	}
	return true
}

// few is how many pieces of work of a microsecond or so are taken at a time.
const few = 4

// Shared calls a or b with each number below n, some at a time with the one and some with the other. Each call is soon done, and which of the two it is of
// must not matter.
func Shared(n int, a, b func(i int)) {
	var next atomic.Int64
	some := func(use func(i int)) func() {
		return func() {
			for i := int(next.Add(few)) - few; i < n; i = int(next.Add(few)) - few {
				for j := i; j < min(i+few, n); j++ {
					use(j)
				}
			}
		}
	}
	if n < 2*few || !Both(some(a), some(b)) {
		some(a)()
	}
}

// both does two pieces of work that take long.
func both(a, b func()) {
	if Both(a, b) {
		return
	}
	var wait sync.WaitGroup
	wait.Go(b)
	a()
	wait.Wait()
}

// A task is work for the second core.
type task struct {
	do    func()
	state atomic.Int32
	wake  chan struct{} // if somebody sleeps until it is done
}

const (
	open = iota
	awaited
	done
)

// The second core takes 70 to 330 microseconds to wake up where it is one of a virtual machine, longer than most of what is worth sharing lasts. So who
// woke it up for something finds it awake for a while.
var second struct {
	taken, awake atomic.Bool
	offer        atomic.Pointer[task]
}

const (
	// awake is how long it stays so.
	awake = time.Millisecond
	// turns is how often it is asked in vain whether there is something before others may have the core, and patience after how many of those who waits
	// for it sleeps.
	turns, patience = 1 << 10, 32
)

// Both does two pieces of work of a few microseconds and more at the same time. It reports false, and does nothing, if there is no other core or
// somebody else has it.
func Both(a, b func()) bool {
	if runtime.GOMAXPROCS(0) == 1 || !second.taken.CompareAndSwap(false, true) {
		return false
	}
	defer second.taken.Store(false)
	t := &task{do: b}
	second.offer.Store(t)
	Wake()
	a()
	if second.offer.CompareAndSwap(t, nil) {
		b() // nobody began with it
		return true
	}
	t.wait()
	return true
}

// wait returns when the task is done.
func (t *task) wait() {
	for i := 1; t.state.Load() != done; i++ {
		switch {
		case i%turns != 0:
		case i < turns*patience:
			runtime.Gosched()
		default:
			t.wake = make(chan struct{}, 1)
			if t.state.CompareAndSwap(open, awaited) {
				<-t.wake
			}
		}
	}
}

// Wake wakes the second core up for who will soon have work for it.
func Wake() {
	if runtime.GOMAXPROCS(0) > 1 && !second.awake.Load() && second.awake.CompareAndSwap(false, true) {
		go stay()
	}
}

// stay does what is offered until nothing is for a while.
func stay() {
	last, worked := time.Now(), false
	for i := 1; ; i++ {
		if t := second.offer.Load(); t != nil && second.offer.CompareAndSwap(t, nil) {
			t.do()
			if t.state.Swap(done) == awaited {
				t.wake <- struct{}{}
			}
			worked = true
			continue
		}
		if i%turns != 0 {
			continue
		}
		runtime.Gosched()
		now := time.Now()
		if worked {
			last, worked = now, false
		}
		if now.Sub(last) > awake {
			second.awake.Store(false)
			if second.offer.Load() == nil || !second.awake.CompareAndSwap(false, true) {
				return
			}
		}
	}
}
