package graphs

// A mesh is the graph that the switches of a fabric form, in compressed form: hosts and links to hosts are left out.
type mesh struct {
	ids   []NodeID // of the switches, in order
	start []int32  // the neighbours of switch i are next[start[i]:start[i+1]], one entry a link
	next  []int32
	hosts []int // links to hosts, by switch
}

func (f *Fabric) mesh() *mesh {
	m := &mesh{ids: f.Switches()}
	index := make([]int32, len(f.nodes))
	for i, n := range m.ids {
		index[n] = int32(i)
	}
	m.start = make([]int32, len(m.ids)+1)
	m.hosts = make([]int, len(m.ids))
	for i, n := range m.ids {
		for _, a := range f.Out(n) {
			if h := f.Head(a); f.nodes[h].IsHost() {
				m.hosts[i]++
			} else {
				m.next = append(m.next, index[h])
			}
		}
		m.start[i+1] = int32(len(m.next))
	}
	return m
}

func (m *mesh) size() int { return len(m.ids) }

func (m *mesh) neighbours(i int) []int32 { return m.next[m.start[i]:m.start[i+1]] }

func (m *mesh) degree(i int) int { return int(m.start[i+1] - m.start[i]) }

// weights returns the number of host links of each switch, or 1 for all where no switch has any.
func (m *mesh) weights() (w []int, byHosts bool) {
	for _, n := range m.hosts {
		if n > 0 {
			return m.hosts, true
		}
	}
	w = make([]int, m.size())
	for i := range w {
		w[i] = 1
	}
	return w, false
}

// connected reports whether every switch reaches every other.
func (m *mesh) connected() bool {
	if m.size() == 0 {
		return true
	}
	seen := make([]bool, m.size())
	seen[0] = true
	queue := []int32{0}
	for i := 0; i < len(queue); i++ {
		for _, j := range m.neighbours(int(queue[i])) {
			if !seen[j] {
				seen[j] = true
				queue = append(queue, j)
			}
		}
	}
	return len(queue) == m.size()
}
