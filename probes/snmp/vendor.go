package snmp

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"whichlink/internal/evidence"
)

// vendorTables is what an agent was found to have of the tables that most do not.
type vendorTables struct {
	pfc    []string // the columns sent and received, by priority or by port; nil if there are none
	queues []queueCounter
	lanes  map[uint32][]evidence.Lane
	// limits are the limits of light, which were read at limited because there was light at limitedOf.
	limits    map[lightPlace]*evidence.LightLimits
	limited   time.Time
	limitedOf map[lightPlace]bool
}

// pfcTables are where pause frames of priorities are counted: requests, which are sent, and indications, which came. The port's totals are the last
// resort: SONiC's hold priority 3 alone.
var pfcTables = [][]string{
	{cpfcPriority + "2", cpfcPriority + "3"},
	{mellanoxQoS + "2.1.5", mellanoxQoS + "2.1.3"}, // mellanoxQoSPFCTxPausePkts, mellanoxQoSPFCRxPausePkts
	{cpfcPort + "1", cpfcPort + "2"},
	{ieeePFC + "2", ieeePFC + "3"},
}

// pfc reads the pause frames of priorities. Which table the agent has is found out when names are read.
func (p *reader) pfc(ctx context.Context) error {
	tables := [][]string{p.vendor.pfc}
	if p.full {
		tables = pfcTables
	} else if p.vendor.pfc == nil {
		return nil
	}
	for _, columns := range tables {
		rows := map[[2]int]*PFC{}
		var order [][2]int
		err := p.session.Sweep(ctx, nil, columns, func(c Cell) {
			at, ok := priorityIndex(c.Index)
			if !ok || !c.Value.IsNumber() || p.ports[uint32(at[0])] == nil {
				return
			}
			if rows[at] == nil {
				rows[at] = &PFC{Priority: at[1]}
				order = append(order, at)
			}
			if c.Column == 0 {
				rows[at].Sent = c.Value.Number
			} else {
				rows[at].Received = c.Value.Number
			}
		}, nil)
		for _, at := range order {
			q := p.ports[uint32(at[0])]
			q.PFC = append(q.PFC, *rows[at])
		}
		if p.vendor.pfc = columns; err != nil || len(rows) > 0 {
			return err
		}
	}
	p.vendor.pfc = nil
	return nil
}

// priorityIndex reads ifIndex.priority, or ifIndex alone: priority -1.
func priorityIndex(index OID) (at [2]int, ok bool) {
	switch {
	case len(index) == 1:
		return [2]int{int(index[0]), -1}, index[0] > 0
	case len(index) == 2:
		return [2]int{int(index[0]), int(index[1])}, index[0] > 0 && index[1] < 8
	}
	return at, false
}

// The last part of csqIfQosGroupStats' index: what is counted.
const (
	csqUnicastDropped, csqMulticastDropped = 5, 7 // packets
	csqEgress                              = 2
)

// A queueCounter is an instance that counts what a queue of a port dropped on its way out.
type queueCounter struct {
	oid   string
	port  uint32
	queue int
}

// queueTables are the columns that count what queues dropped, and whose rows those are. Cisco's table has eight kinds of counts a queue. Of Onyx's, one
// is of packets that found no buffer (mellanoxQoSTCUnicastNoBufferDiscard), one of those that WRED dropped (mellanoxQoSTCWREDDiscard), by ifIndex and traffic class.
var queueTables = []struct {
	oid string
	of  func(index OID) (port uint32, queue int, ok bool)
}{
	{csqStats, func(i OID) (uint32, int, bool) {
		if len(i) != 4 || i[1] != csqEgress || i[3] != csqUnicastDropped && i[3] != csqMulticastDropped {
			return 0, 0, false
		}
		return i[0], int(i[2]), true
	}},
	{mellanoxQoS + "4.1.8", trafficClass}, {mellanoxQoS + "4.1.9", trafficClass},
}

func trafficClass(i OID) (port uint32, class int, ok bool) {
	if len(i) != 2 {
		return 0, 0, false
	}
	return i[0], int(i[1]), true
}

// queues reads what queues dropped. Once it is known which rows are drops, these alone are read.
func (p *reader) queues(ctx context.Context) error {
	got := map[string]Value{}
	if p.full {
		p.vendor.queues = nil
		oids := make([]string, len(queueTables))
		for i := range queueTables {
			oids[i] = queueTables[i].oid
		}
		err := p.session.Sweep(ctx, nil, oids, func(c Cell) {
			if port, queue, ok := queueTables[c.Column].of(c.Index); ok {
				oid := oids[c.Column] + "." + c.Index.String()
				got[oid] = c.Value
				p.vendor.queues = append(p.vendor.queues, queueCounter{oid, port, queue})
			}
		}, nil)
		if err != nil {
			return err
		}
	} else if len(p.vendor.queues) > 0 {
		oids := make([]string, len(p.vendor.queues))
		for i := range oids {
			oids[i] = p.vendor.queues[i].oid
		}
		var err error
		if got, err = p.session.Get(ctx, oids...); err != nil {
			return err
		}
	}
	for _, q := range p.vendor.queues {
		v, ok := got[q.oid]
		if port := p.ports[q.port]; ok && port != nil && v.IsNumber() {
			port.addDrops(q.queue, v.Number)
		}
	}
	return nil
}

// addDrops adds up what a queue dropped of one kind and another.
func (q *Port) addDrops(queue int, packets uint64) {
	for i := range q.Drops {
		if q.Drops[i].Queue == queue {
			q.Drops[i].Packets += packets
			return
		}
	}
	q.Drops = append(q.Drops, QueueDrops{queue, packets})
	slices.SortFunc(q.Drops, func(a, b QueueDrops) int { return cmp.Compare(a.Queue, b.Queue) })
}

// optics reads the light of transceivers, once a minute, and seldom the limits that it has.
func (p *reader) optics(ctx context.Context) error {
	if p.full || p.Time.Sub(p.looked) > slowLasts && p.vendor.lanes != nil {
		p.looked = p.Time
		o := &optics{reader: p, lanes: map[uint32][]evidence.Lane{}, places: map[uint32]string{}, placed: map[bool]map[uint32]placedSensor{}}
		err := errors.Join(o.vendors(ctx), o.sensors(ctx), o.limits(ctx))
		if p.vendor.lanes = o.lanes; len(o.lanes) == 0 {
			p.vendor.lanes = nil
		}
		if err != nil {
			return err
		}
	}
	for index, lanes := range p.vendor.lanes {
		if q := p.ports[index]; q != nil {
			q.Optics = lanes
		}
	}
	return nil
}
