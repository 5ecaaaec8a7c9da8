package frames

// The opcodes of MAC control.
const (
	PauseLink  = 0x0001 // IEEE 802.3 annex 31B: the whole link
	PauseClass = 0x0101 // IEEE 802.1Qbb: by priority
)

// A Pause is a MAC control frame that pauses or resumes its receiver's sending.
type Pause struct {
	Opcode uint16
	// Classes has bit p set when Quanta[p] counts. Of a link pause it is 1 and Quanta[0] the link's.
	Classes uint8
	// Quanta are in units of 512 bit times; 0 resumes.
	Quanta [8]uint16
}

// macControl reads a MAC control frame.
func (f *Frame) macControl(at int) {
	if !f.has(at, 4) {
		return
	}
	p := &f.Pause
	*p = Pause{Opcode: f.be16(at)}
	switch p.Opcode {
	case PauseLink:
		p.Classes, p.Quanta[0] = 1, f.be16(at+2)
	case PauseClass:
		if !f.has(at, 20) {
			return
		}
		p.Classes = f.Data[at+3]
		for i := range p.Quanta {
			p.Quanta[i] = f.be16(at + 4 + 2*i)
		}
	default:
		return
	}
	f.Kind = MACControl
}
