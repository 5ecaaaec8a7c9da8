package lab

import (
	"runtime"

	"golang.org/x/sync/errgroup"
)

// parallel runs work for 0 to n-1, a few at a time, and returns the first error.
func parallel(n int, work func(i int) error) error {
	var g errgroup.Group
	g.SetLimit(2 * runtime.NumCPU())
	for i := range n {
		g.Go(func() error { return work(i) })
	}
	return g.Wait()
}
