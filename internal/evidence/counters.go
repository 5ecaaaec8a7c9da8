package evidence

import (
	"cmp"
	"errors"
	"fmt"
)

// What a switch or a host says of its own ports. A counters record holds what was counted in an interval, never totals since the last boot:
// these say nothing (six in ten ports of real devices have errors in them).
const (
	// KindCounters is the state of a port at Time, and what it counted in the IntervalMS before.
	KindCounters Kind = "counters"
	// KindEvent is something that happened to a port at Time: it went down or up, or did so unseen within the WindowMS before ([Flapped]).
	KindEvent Kind = "event"
	// KindNeighbour is what a port hears at the far end of its cable (LLDP). A record without a RemoteSystem says that it was asked and hears
	// nobody.
	KindNeighbour Kind = "neighbour"
)

// The states of a port, as IF-MIB names them. A reader takes words that it does not know for states that tell nothing.
const (
	Up   = "up"
	Down = "down"
)

// Flapped is the event of a port that went down and came up again at least Count times, once if that is absent. Text says what told.
const Flapped = "flapped"

// SessionDown and SessionUp are events of a BGP session whose peer is at the other end of a port's link.
const (
	SessionDown = "session-down"
	SessionUp   = "session-up"
)

// UpOrDown reads a state of IF-MIB (RFC 2863), an operational one or an administrative one, as Up or Down: without a module, or with what lies below it down,
// a port is down. Other states tell nothing: they are the empty string.
func UpOrDown(state string) string {
	switch state {
	case Up:
		return Up
	case Down, "lowerLayerDown", "notPresent":
		return Down
	}
	return ""
}

// Counters are what a port counted in one direction in an interval (IF-MIB, EtherLike-MIB). Those that the device does not have are nil.
type Counters struct {
	Octets *uint64 `json:"octets,omitempty"`
	// Unicast counts packets that were delivered or sent: ifHCInUcastPkts, ifHCOutUcastPkts.
	Unicast *uint64 `json:"unicast,omitempty"`
	// Errors are packets that could not be read (in) or sent (out), Discards those that were dropped though nothing was wrong with them.
	Errors   *uint64 `json:"errors,omitempty"`
	Discards *uint64 `json:"discards,omitempty"`
	// FCS are frames that arrived with a wrong checksum. Mostly they are among Errors, too.
	FCS   *uint64 `json:"fcs,omitempty"`
	Pause *uint64 `json:"pause,omitempty"`
}

// PortState is the part of a [Record] that is about a port.
type PortState struct {
	// Port is the port as the fabric names it, node:port.
	Port       string `json:"port,omitempty"`
	IntervalMS int    `json:"interval_ms,omitempty"`
	// Oper and Admin are the state that the port is in and the one that it was told to be in: up, down, or another word of IF-MIB.
	Oper  string `json:"oper,omitempty"`
	Admin string `json:"admin,omitempty"`
	// Speed is in bit/s, absent where it is not known.
	Speed uint64    `json:"speed,omitempty"`
	In    *Counters `json:"in,omitempty"`
	Out   *Counters `json:"out,omitempty"`
	// InRate and OutRate are what the port carried in bit/s over RateMS, from one moment at which its counters were seen to change to another:
	// agents show figures that are seconds old, so that the octets of one interval may be those of two. They are absent where not known.
	InRate  *uint64 `json:"in_bps,omitempty"`
	OutRate *uint64 `json:"out_bps,omitempty"`
	RateMS  int     `json:"rate_ms,omitempty"`
	// LastChangeAgoMS is how long before Time the port entered the state that it is in. Agents that do not know say nothing.
	LastChangeAgoMS *int64 `json:"last_change_ago_ms,omitempty"`
	// Optics is the light of the port's transceiver, lane by lane in their order, where it was measured since the record before. Absent where not served.
	Optics []Lane `json:"optics,omitempty"`
	// Reset tells that counters began anew or the port was numbered anew within the interval: In and Out say nothing then.
	Reset bool `json:"reset,omitempty"`

	// Event is what happened: down, up, flapped, session-down or session-up.
	Event string `json:"event,omitempty"`

	// RemoteSystem, RemotePort and Chassis are what the neighbour calls itself, its port and its chassis.
	RemoteSystem string `json:"remote_system,omitempty"`
	RemotePort   string `json:"remote_port,omitempty"`
	Chassis      string `json:"chassis,omitempty"`
}

// A Lane is the light of one lane of a transceiver, in dBm: received and sent. Lane is 0 where there is but one. What was not measured, or is dark as its vendor
// writes it, is nil.
type Lane struct {
	Lane int      `json:"lane,omitempty"`
	Rx   *float64 `json:"rx_dbm,omitempty"`
	Tx   *float64 `json:"tx_dbm,omitempty"`
	// RxLimits and TxLimits are the limits that the module itself has for this light, absent where they are not served.
	RxLimits *LightLimits `json:"rx_limits,omitempty"`
	TxLimits *LightLimits `json:"tx_limits,omitempty"`
}

// LightLimits are between which bounds the maker of a module wants light to be, in dBm. Those that are not served are nil.
type LightLimits struct {
	LowAlarm    *float64 `json:"low_alarm_dbm,omitempty"`
	LowWarning  *float64 `json:"low_warning_dbm,omitempty"`
	HighWarning *float64 `json:"high_warning_dbm,omitempty"`
	HighAlarm   *float64 `json:"high_alarm_dbm,omitempty"`
}

// Beyond says which limit light is beyond, as in "below the low warning of -12 dBm", the worst one; "" if it is within all, or there are none. Low is whether
// there is too little of it, alarm whether more than a warning is passed.
func (l *LightLimits) Beyond(dbm float64) (text string, low, alarm bool) {
	if l == nil {
		return "", false, false
	}
	for _, x := range []struct {
		limit      *float64
		low, alarm bool
		words      string
	}{{l.LowAlarm, true, true, "below the low alarm"}, {l.HighAlarm, false, true, "above the high alarm"},
		{l.LowWarning, true, false, "below the low warning"}, {l.HighWarning, false, false, "above the high warning"}} {
		if x.limit != nil && (x.low && dbm < *x.limit || !x.low && dbm > *x.limit) {
			return fmt.Sprintf("%s of %.4g dBm", x.words, *x.limit), x.low, x.alarm
		}
	}
	return "", false, false
}

// check refuses limits that cannot be.
func (l *LightLimits) check(way string) error {
	if l == nil {
		return nil
	}
	for _, x := range []*float64{l.LowAlarm, l.LowWarning, l.HighWarning, l.HighAlarm} {
		if x != nil && !(*x >= Darkest && *x <= Brightest) {
			return fmt.Errorf("%s has %g: light is between %g and %g dBm", way, *x, Darkest, Brightest)
		}
	}
	return nil
}

// Light lies between these bounds, in dBm: what is beyond is how a vendor writes that there is none.
const (
	Darkest   = -60.0
	Brightest = 30.0
)

// check refuses light that cannot be.
func (l *Lane) check() error {
	if l.Lane < 0 {
		return fmt.Errorf("lane is %d: lanes are counted from 1, 0 where there is but one", l.Lane)
	}
	for _, x := range []struct {
		name string
		dbm  *float64
	}{{"rx_dbm", l.Rx}, {"tx_dbm", l.Tx}} {
		if x.dbm != nil && !(*x.dbm >= Darkest && *x.dbm <= Brightest) {
			return fmt.Errorf("%s is %g: light is between %g and %g dBm", x.name, *x.dbm, Darkest, Brightest)
		}
	}
	if err := l.RxLimits.check("rx_limits"); err != nil {
		return err
	}
	return l.TxLimits.check("tx_limits")
}

// Count returns a pointer to n, for the counters that may be absent.
func Count(n uint64) *uint64 { return &n }

// check refuses what cannot be. The counters themselves may be anything that a device has to say.
func (p *PortState) check(kind Kind) error {
	switch kind {
	case KindCounters, KindEvent, KindNeighbour:
	default:
		return nil
	}
	switch {
	case p.Port == "":
		return fmt.Errorf("a record of kind %s needs a port", kind)
	case kind == KindEvent && p.Event == "":
		return errors.New("a record of kind event needs an event")
	}
	ago := int64(0)
	if p.LastChangeAgoMS != nil {
		ago = *p.LastChangeAgoMS
	}
	if err := cmp.Or(checkMS("interval_ms", int64(p.IntervalMS)), checkMS("rate_ms", int64(p.RateMS)), checkMS("last_change_ago_ms", ago)); err != nil {
		return err
	}
	for i := range p.Optics {
		if err := p.Optics[i].check(); err != nil {
			return err
		}
	}
	return nil
}
