package snmp

import (
	"context"
	"math"
	"net/netip"
	"slices"
	"time"
)

const (
	// LLDP-MIB's lldpStatistics, of the device as a whole: when its table of neighbours changed, and how often rows were deleted or aged out.
	stateLLDPChange  = "1.0.8802.1.1.2.1.2.1.0"
	stateLLDPDeletes = "1.0.8802.1.1.2.1.2.3.0"
	stateLLDPAgeouts = "1.0.8802.1.1.2.1.2.5.0"
)

// What a column of states is about.
type stateKind uint8

const (
	stateAdmin stateKind = iota
	stateOper
	stateLastChange
	stateCarrier
	stateSession
	stateEstablished
)

// A stateColumn is one column. Those that an agent turns out not to have are not asked for again.
type stateColumn struct {
	oid  string
	kind stateKind
}

// stateColumns are the columns of which an agent has some. Of the counters of carriers (CISCO-IF-EXTENSION-MIB, OLD-CISCO-INTERFACES-MIB, JUNIPER-IF-MIB,
// TIMETRA-PORT-MIB, and ARISTA-IF-MIB's aristaIfOperStatusChanges) and of sessions (BGP4-MIB, ARISTA-BGP4V2-MIB, CISCO-BGP4-MIB, BGP4-V2-MIB-JUNIPER) it has one of each or none.
var stateColumns = []stateColumn{
	{ifEntry + "7", stateAdmin},
	{ifEntry + "8", stateOper},
	{ifEntry + "9", stateLastChange},
	{"1.3.6.1.4.1.9.9.276.1.1.2.1.4", stateCarrier},
	{"1.3.6.1.4.1.2636.3.3.1.1.26", stateCarrier},
	{"1.3.6.1.4.1.6527.3.1.2.2.4.2.1.81", stateCarrier},
	{"1.3.6.1.4.1.9.2.2.1.1.21", stateCarrier},
	{aristaIf + "8", stateCarrier},
	{"1.3.6.1.2.1.15.3.1.2", stateSession},
	{"1.3.6.1.2.1.15.3.1.15", stateEstablished},
	{"1.3.6.1.4.1.30065.4.1.1.7.1.5", stateEstablished},
	{"1.3.6.1.4.1.9.9.187.1.2.5.1.18", stateEstablished},
	{"1.3.6.1.4.1.2636.5.1.1.2.6.1.1.5", stateEstablished},
}

// A States is what an agent says of the state of its ports and sessions at one moment.
type States struct {
	Time time.Time
	// Uptime is sysUpTime in hundredths of a second, Boots snmpEngineBoots; nil where the agent does not say.
	Uptime, Boots *uint32
	Ports         map[uint32]PortStates // by ifIndex
	Sessions      map[netip.Addr]PeerSession
	// LLDPChange is when the table of neighbours changed, by sysUpTime, and LLDPGone how many of its rows were deleted or aged out; nil where
	// the agent does not count them.
	LLDPChange, LLDPGone *uint32
}

// PortStates are a port's states.
type PortStates struct {
	Oper, Admin string // words of IF-MIB
	// Change is ifLastChange, Carrier what the vendor counts of changes of the carrier; nil where the agent has none.
	Change  *uint32
	Carrier *uint64
}

// A PeerSession is a session of BGP-4 with one peer: how often it was established, and whether it is, nil if not told.
type PeerSession struct {
	Established *uint32
	Is          *bool
}

// A stateReader reads the states of one agent. What the agent does not have is found out once, and again after it restarted.
type stateReader struct {
	session *Session
	columns []stateColumn // nil: to be found out
}

// read reads all states. On an error what came before it is returned with it, and is not to be compared: it is in part.
func (r *stateReader) read(ctx context.Context) (*States, error) {
	s := &States{Time: time.Now(), Ports: map[uint32]PortStates{}, Sessions: map[netip.Addr]PeerSession{}}
	got, err := r.session.Get(ctx, oidSysUpTime, oidEngineBoots, stateLLDPChange, stateLLDPDeletes, stateLLDPAgeouts)
	if err != nil {
		return s, err
	}
	number := func(oid string) *uint32 {
		if v, ok := got[oid]; ok && v.IsNumber() {
			n := uint32(v.Number)
			return &n
		}
		return nil
	}
	s.Uptime, s.Boots, s.LLDPChange = number(oidSysUpTime), number(oidEngineBoots), number(stateLLDPChange)
	if deleted, aged := number(stateLLDPDeletes), number(stateLLDPAgeouts); deleted != nil && aged != nil {
		n := *deleted + *aged
		s.LLDPGone = &n
	}
	columns := r.columns
	if columns == nil {
		columns = stateColumns
	}
	oids := make([]string, len(columns))
	for i, c := range columns {
		oids[i] = c.oid
	}
	seen := make([]bool, len(columns))
	err = r.session.Sweep(ctx, []string{oidSysUpTime}, oids, func(c Cell) {
		if s.take(columns[c.Column].kind, c.Index, c.Value) {
			seen[c.Column] = true
		}
	}, func(_ int, v Value) {
		n := uint32(v.Number)
		s.Uptime = &n
	})
	if err != nil {
		return s, err
	}
	if r.columns == nil {
		r.columns = slices.DeleteFunc(slices.Clone(stateColumns), func(c stateColumn) bool { return !seen[slices.Index(stateColumns, c)] })
	}
	return s, nil
}

// take takes in one value. It returns false for what is not understood.
func (s *States) take(kind stateKind, instance OID, v Value) bool {
	if !v.IsNumber() {
		return false
	}
	switch kind {
	case stateSession, stateEstablished:
		peer, ok := lastAddress(instance)
		if !ok {
			return false
		}
		x := s.Sessions[peer]
		if kind == stateSession {
			is := v.Number == 6 // established
			x.Is = &is
		} else {
			n := uint32(v.Number)
			x.Established = &n
		}
		s.Sessions[peer] = x
		return true
	}
	// Where there is a chassis before it (TIMETRA-PORT-MIB), the port comes last.
	index := instance[len(instance)-1]
	if index == 0 || index > math.MaxInt32 {
		return false
	}
	p := s.Ports[index]
	switch kind {
	case stateAdmin:
		p.Admin = status(v.Number)
	case stateOper:
		p.Oper = status(v.Number)
	case stateLastChange:
		n := uint32(v.Number)
		p.Change = &n
	case stateCarrier:
		n := v.Number
		p.Carrier = &n
	}
	s.Ports[index] = p
	return true
}

// lastAddress reads the address that an instance ends with: four numbers, or sixteen behind the type and length of one of IPv6 (RFC 4001).
func lastAddress(instance OID) (netip.Addr, bool) {
	n := len(instance)
	if n >= 17 && (instance[n-17] == 2 || n >= 18 && instance[n-17] == 16 && instance[n-18] == 2) {
		return addressOfIndex(instance[n-16:])
	}
	if n < 4 {
		return netip.Addr{}, false
	}
	return addressOfIndex(instance[n-4:])
}
