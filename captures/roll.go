package captures

// maxTold bounds what a finder of rare packets keeps, so that a capture made to fill it does not fill memory.
const maxTold = 4096

// A roll keeps values by key, in the order in which the keys came, and no more than a number of them.
type roll[K comparable, V any] struct {
	most  int
	index map[K]int
	all   []V
}

// of returns the value of a key, and whether it was made now; nil where there is no room for another. It lasts until the next one is made.
func (r *roll[K, V]) of(k K) (v *V, fresh bool) {
	i, known := r.index[k]
	if !known {
		if len(r.all) == r.most {
			return nil, false
		}
		if r.index == nil {
			r.index = map[K]int{}
		}
		i = len(r.all)
		r.index[k] = i
		var zero V
		r.all = append(r.all, zero)
	}
	return &r.all[i], !known
}
