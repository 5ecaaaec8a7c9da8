package files

import "io"

// A Merged yields the packets of several files in the order of time. Packets of one file keep the file's own order.
type Merged struct {
	files []*File
	heads []Packet // the next packet of each file
	live  []int    // heap of indices into heads, the earliest first
	begun bool
}

// Merge merges files. What is wrong with one is in its Err; the others are read on.
func Merge(files ...*File) *Merged {
	return &Merged{files: files, heads: make([]Packet, len(files))}
}

// Next fills in the next packet.
func (m *Merged) Next(p *Packet) error {
	if len(m.files) == 1 {
		return m.files[0].Next(p)
	}
	if !m.begun {
		m.begun = true
		for i := range m.files {
			if m.load(i) {
				m.live = append(m.live, i)
			}
		}
		for i := len(m.live)/2 - 1; i >= 0; i-- {
			m.down(i)
		}
	} else if len(m.live) > 0 {
		// The packet handed out last lay in its file's buffer, so that file is read on only now.
		if !m.load(m.live[0]) {
			m.live[0] = m.live[len(m.live)-1]
			m.live = m.live[:len(m.live)-1]
		}
		m.down(0)
	}
	if len(m.live) == 0 {
		return io.EOF
	}
	*p = m.heads[m.live[0]]
	return nil
}

func (m *Merged) load(i int) bool {
	err := m.files[i].Next(&m.heads[i])
	m.heads[i].File = i
	return err == nil
}

func (m *Merged) before(a, b int) bool {
	x, y := m.live[a], m.live[b]
	if m.heads[x].Time != m.heads[y].Time {
		return m.heads[x].Time < m.heads[y].Time
	}
	return x < y
}

func (m *Merged) down(i int) {
	for {
		least := i
		for _, c := range [2]int{2*i + 1, 2*i + 2} {
			if c < len(m.live) && m.before(c, least) {
				least = c
			}
		}
		if least == i {
			return
		}
		m.live[i], m.live[least] = m.live[least], m.live[i]
		i = least
	}
}
