package halves

import "testing"

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
