package snmp

import (
	"slices"
	"time"

	"whichlink/internal/evidence"
)

// A neighbourRow is where an agent keeps a neighbour. The last part of its index is made anew when a neighbour that was forgotten is heard again.
type neighbourRow struct {
	protocol      Protocol
	number        uint32 // of the port, in the protocol's own numbers
	index         uint32
	chassis, port string // as keys
	guessed       bool   // which port hears it
}

func rowOf(h *Hearing) neighbourRow {
	return neighbourRow{h.Protocol, h.Number, h.order[2], h.Chassis.key(), h.PortID.key(), h.Step.guessed()}
}

// forgetNeighbours has the next reading ask for neighbours.
func (a *Agent) forgetNeighbours() { a.listened = time.Time{} }

// neighbourRecords says whom each port hears, and which ports no longer hear those that they heard. A port that is only guessed would make a wrong cable of
// a right one, and is left out.
func neighbourRecords(before, after []Neighbour) []*evidence.Record {
	var records []*evidence.Record
	said := map[string]bool{}
	say := func(port string, n Neighbour) {
		if port == "" || said[port] {
			return
		}
		said[port] = true
		r := &evidence.Record{Kind: evidence.KindNeighbour}
		r.Port, r.RemoteSystem, r.Chassis, r.RemotePort = port, n.System, n.Chassis, n.RemotePort
		records = append(records, r)
	}
	for _, n := range after {
		if !n.row.guessed {
			say(n.Port, n)
		}
	}
	for _, n := range before {
		if !n.row.guessed {
			say(n.Port, Neighbour{})
		}
	}
	return records
}

// relearned lists the ports whose neighbour is the same as before in another row: it was forgotten and heard again. If most of them were, and more than
// two, the agent forgot them by itself.
func relearned(before, after []Neighbour) []string {
	type key struct {
		protocol      Protocol
		number        uint32
		chassis, port string
	}
	of := func(n *Neighbour) key { return key{n.row.protocol, n.row.number, n.row.chassis, n.row.port} }
	rows := map[key]uint32{}
	for i := range before {
		rows[of(&before[i])] = before[i].row.index
	}
	var ports []string
	same := 0
	for i := range after {
		n := &after[i]
		index, ok := rows[of(n)]
		if !ok || n.row.protocol == CDP || n.row.guessed {
			continue
		}
		same++
		if index != n.row.index {
			ports = append(ports, n.Port)
		}
	}
	if len(ports) > 2 && 2*len(ports) >= same {
		return nil
	}
	slices.Sort(ports)
	return slices.Compact(ports)
}
