package captures

// chunk is how many values of an arena stand together.
const chunk = 512

// An arena holds values that are referred to by number: without pointers, so that the collector passes it by, and without moving
// them when it grows. Number 0 is never given out and stands for none.
type arena[T any] struct {
	chunks []*[chunk]T
	n      uint32
}

// add makes a new zero value.
func (a *arena[T]) add() (uint32, *T) {
	a.n++
	if int(a.n/chunk) >= len(a.chunks) {
		a.chunks = append(a.chunks, new([chunk]T))
	}
	return a.n, a.at(a.n)
}

// at returns a value by its number.
func (a *arena[T]) at(i uint32) *T { return &a.chunks[i/chunk][i%chunk] }

// all calls each for every value in the order in which they were made.
func (a *arena[T]) all(each func(uint32, *T)) {
	for i := uint32(1); i <= a.n; i++ {
		each(i, a.at(i))
	}
}
