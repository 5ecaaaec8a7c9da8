package captures

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// What begins a frame of the spanning tree, and of Cisco's tree for each VLAN: LLC of the one, SNAP of the other.
var (
	stpLLC   = []byte{0x42, 0x42, 0x03}
	pvstSNAP = []byte{0xaa, 0xaa, 0x03, 0x00, 0x00, 0x0c, 0x01, 0x0b}
)

const (
	bpduConfig = 0x00
	bpduRapid  = 0x02
	bpduChange = 0x80 // the notification of a topology change (IEEE 802.1D 9.3.2)
	// quietChange is after which pause another notification tells of another change: a bridge repeats it each hello time of 2 s.
	quietChange = 5_000_000_000
	// rootLost is how many hello times after the last claim of a root another one with a worse identifier counts.
	rootLost = 3
)

// A bridgeID is priority, instance and address (IEEE 802.1D 9.2.5); the less the better.
type bridgeID uint64

func (b bridgeID) String() string {
	return fmt.Sprintf("%d/%s", b>>48, macName(binary.BigEndian.AppendUint64(nil, uint64(b))[2:]))
}

// instance is the part of a priority that names the VLAN or the tree.
func (b bridgeID) instance() uint16 { return uint16(b>>48) & 0x0fff }

// An stpKey is a tree, or who says that it changes, on one interface of a file.
type stpKey struct {
	mac         [6]byte // of the port that says it; zero for a tree
	instance    uint16
	file, iface int
}

// An stpPort tells that the topology changes.
type stpPort struct {
	stpKey
	bridge         bridgeID // 0 where the port said only that something changed
	changing       bool
	n, first, last int64
}

// An stpTree is who was said to be its root.
type stpTree struct {
	stpKey
	root, before   bridgeID
	said           int64
	n, first, last int64
}

// An stpFinder tells when the spanning tree changed, upon which switches forget where addresses are and flood.
type stpFinder struct {
	a     *Analyzer
	ports roll[stpKey, stpPort]
	trees roll[stpKey, stpTree]
}

func newSTPFinder(a *Analyzer) finder {
	return &stpFinder{a: a, ports: roll[stpKey, stpPort]{most: maxTold}, trees: roll[stpKey, stpTree]{most: maxTold}}
}

func (f *stpFinder) see(s *Sight) {
	src := s.Frame.SrcMAC()
	if src == nil || s.Frame.EtherType != 0 || s.Frame.Link > len(s.Data) {
		return
	}
	b, standard := bytes.CutPrefix(s.Data[s.Frame.Link:], stpLLC)
	if !standard {
		var vlans bool
		if b, vlans = bytes.CutPrefix(b, pvstSNAP); !vlans {
			return
		}
	}
	if len(b) < 4 || binary.BigEndian.Uint16(b) != 0 {
		return
	}
	k := stpKey{mac: [6]byte(src), file: s.File, iface: s.Interface}
	switch kind := b[3]; {
	case kind == bpduChange:
		if p, _ := f.ports.of(k); p != nil {
			p.stpKey = k
			if p.n == 0 || s.Time-p.last > quietChange {
				p.change(s.Time)
			}
			p.last = s.Time
		}
	case (kind == bpduConfig || kind == bpduRapid) && len(b) >= 35:
		root, hello := bridgeID(binary.BigEndian.Uint64(b[5:])), int64(binary.BigEndian.Uint16(b[31:]))*1e9/256
		k.instance = root.instance()
		if p, _ := f.ports.of(k); p != nil {
			p.stpKey, p.bridge = k, bridgeID(binary.BigEndian.Uint64(b[17:]))
			changing := b[4]&1 != 0
			if changing && !p.changing {
				p.change(s.Time)
			}
			p.changing = changing
		}
		k.mac = [6]byte{}
		if t, _ := f.trees.of(k); t != nil {
			t.stpKey = k
			t.claim(root, s.Time, hello)
		}
	}
}

func (p *stpPort) change(now int64) {
	if p.n++; p.n == 1 {
		p.first = now
	}
	p.last = now
}

// claim follows who a bridge says is root. A worse one counts only when the root was not named for some time: a bridge that starts
// takes itself for it, and is told otherwise.
func (t *stpTree) claim(root bridgeID, now, hello int64) {
	if t.root != 0 && root != t.root {
		if root > t.root && now-t.said <= rootLost*hello {
			return
		}
		if t.n++; t.n == 1 {
			t.first = now
		}
		t.before, t.last = t.root, now
	}
	t.root, t.said = root, now
}

func (f *stpFinder) report(r *Report) {
	changes, roots := ranking{most: f.a.cfg.MaxFindings}, ranking{most: f.a.cfg.MaxFindings}
	for i := range f.ports.all {
		if p := &f.ports.all[i]; p.n > 0 {
			changes.add(candidate{p.n, p.first, p.last, uint32(i), 0})
		}
	}
	for i := range f.trees.all {
		if t := &f.trees.all[i]; t.n > 0 {
			roots.add(candidate{t.n, t.first, t.last, uint32(i), 0})
		}
	}
	changes.tell(r, func(c candidate) Finding {
		p := &f.ports.all[c.number]
		subject := "stp port " + macName(p.mac[:])
		if p.bridge != 0 {
			subject = fmt.Sprintf("stp bridge %s port %s", p.bridge, macName(p.mac[:]))
		}
		return Finding{
			Finding: "stp-topology-change", Severity: Warning, about: chooseMAC(p.mac[:]), Subject: subject,
			Text:   plural(c.count, "topology change") + " told of: a link of the tree came or went, and switches forgot where addresses are and flooded until they learnt again",
			Rule:   "the flag of a topology change goes up in a BPDU, or a notification comes after 5 s without (IEEE 802.1D)",
			Filter: fmt.Sprintf("eth.src == %s && (stp.flags.tc == 1 || stp.type == 0x80)", macName(p.mac[:])),
		}
	})
	roots.tell(r, func(c candidate) Finding {
		t := &f.trees.all[c.number]
		return Finding{
			Finding: "stp-root-change", Severity: Critical, Subject: fmt.Sprintf("stp tree %d", t.instance),
			Text:   fmt.Sprintf("the root of the tree changed %s, last from bridge %s to %s", plural(t.n, "time"), t.before, t.root),
			Rule:   "BPDUs name a better root than before, or a worse one after three hello times in which the one before was not named",
			Filter: fmt.Sprintf("stp.root.ext == %d && stp.root.hw == %s", t.instance, macName(binary.BigEndian.AppendUint64(nil, uint64(t.root))[2:])),
		}
	})
}
