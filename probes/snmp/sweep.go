package snmp

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gosnmp/gosnmp"
)

// A Cell is one value of a table.
type Cell struct {
	Column int // index into the columns of the sweep
	// Index is the instance: what follows the column's OID, in dotted form, without a leading dot.
	Index string
	Value Value
}

// Sweep reads whole columns in lockstep, so that values of one row are of one moment as far as the agent allows, and with each response the
// scalars, which are instances such as sysUpTime.0. It hands over each cell, and the scalars' values as often as they come, as they arrive; a column
// that the agent does not have yields nothing. On an error what was handed over before it is good.
//
// The agent is asked for as many rows at once as fit into a packet, fewer if it says tooBig or falls silent. An agent whose OIDs do not increase
// (RFC 3416, 4.2.2), that sends more rows or bytes or takes longer than the limits, ends the sweep with an error.
func (s *Session) Sweep(ctx context.Context, scalars, columns []string, cell func(Cell), scalar func(i int, v Value)) error {
	ctx, cancel := context.WithTimeout(ctx, s.limits.Time)
	defer cancel()
	w := sweep{Session: s, scalars: scalars, columns: columns, cell: cell, scalar: scalar, last: make([]string, len(columns)), rows: make([]int, len(columns))}
	for i, c := range columns {
		w.last[i] = c
		w.active = append(w.active, i)
	}
	for len(w.active) > 0 {
		if err := w.step(ctx); err != nil {
			if ctx.Err() != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
				err = fmt.Errorf("%w: %s for one sweep", ErrLimit, s.limits.Time)
			}
			return fmt.Errorf("%s: %w", s.target, err)
		}
	}
	return nil
}

// A sweep is the state of Session.Sweep.
type sweep struct {
	*Session
	scalars, columns []string
	cell             func(Cell)
	scalar           func(int, Value)

	active []int    // columns that have not ended
	last   []string // by column, the last OID seen
	rows   []int    // by column
	bytes  int
}

// step sends one request and takes in what comes.
func (w *sweep) step(ctx context.Context) error {
	// No more columns than leave room for some rows of each.
	columns := w.active[:min(len(w.active), varbinds/2)]
	oids := make([]string, 0, len(w.scalars)+len(columns))
	for _, oid := range w.scalars {
		oids = append(oids, before(oid))
	}
	for _, c := range columns {
		oids = append(oids, w.last[c])
	}
	p, err := w.bulk(ctx, oids, len(columns))
	if err != nil {
		return err
	}
	vars := p.Variables
	for i := range w.scalars {
		if i >= len(vars) {
			return fmt.Errorf("%w: it answered nothing", ErrAgent)
		}
		if trimDot(vars[i].Name) == w.scalars[i] {
			if v, ok := valueOf(&vars[i]); ok {
				w.scalar(i, v)
			}
		}
	}
	vars = vars[min(len(w.scalars), len(vars)):]
	if len(vars) < len(columns) {
		return fmt.Errorf("%w: it answered for %d of %d columns", ErrAgent, len(vars), len(columns))
	}
	ended := make([]bool, len(w.columns))
	for i := range vars {
		c := columns[i%len(columns)]
		if ended[c] {
			continue
		}
		if ended[c], err = w.take(c, &vars[i]); err != nil {
			return err
		}
	}
	active := w.active[:0]
	for _, c := range w.active {
		if !ended[c] {
			active = append(active, c)
		}
	}
	// Columns that had no room take their turn: those asked go to the end of the line.
	if n := len(columns); n < len(w.active) {
		asked := 0
		for _, c := range columns {
			if !ended[c] {
				asked++
			}
		}
		active = append(append([]int(nil), active[asked:]...), active[:asked]...)
	}
	w.active = active
	return nil
}

// take hands over one cell. It returns whether the column has ended.
func (w *sweep) take(c int, v *gosnmp.SnmpPDU) (ended bool, err error) {
	oid := trimDot(v.Name)
	index, ok := strings.CutPrefix(oid, w.columns[c]+".")
	if !ok || v.Type == gosnmp.EndOfMibView {
		return true, nil
	}
	if !after(oid, w.last[c]) {
		return false, fmt.Errorf("%w: OIDs do not increase at %s", ErrAgent, oid)
	}
	w.last[c] = oid
	value, ok := valueOf(v)
	if !ok {
		return false, nil
	}
	w.rows[c]++
	w.bytes += value.size() + len(index)
	if w.rows[c] > w.limits.Rows || w.bytes > w.limits.Bytes {
		return false, fmt.Errorf("%w: %d rows of %s, %d bytes", ErrLimit, w.rows[c], w.columns[c], w.bytes)
	}
	w.cell(Cell{c, index, value})
	return false, nil
}

// bulk sends GETBULK, with fewer repetitions if the agent cannot bear as many, and more again if it can.
func (w *sweep) bulk(ctx context.Context, oids []string, columns int) (*gosnmp.SnmpPacket, error) {
	for {
		w.client.Context = ctx
		n := max(1, min(w.repetitions, varbinds/columns))
		w.requests++
		began := time.Now()
		p, err := w.client.GetBulk(oids, uint8(len(w.scalars)), uint32(n))
		switch {
		case err == nil && p.Error == gosnmp.NoError && len(p.Variables) > 0:
			if w.repetitions < mostRepetitions && time.Since(began) < w.limits.Timeout/2 {
				w.repetitions++
			}
			return p, nil
		case err == nil && p.Error == gosnmp.TooBig, err != nil && isTimeout(err) && ctx.Err() == nil && n > leastRepetitions:
			if n == 1 {
				return nil, fmt.Errorf("%w: %s", ErrAgent, gosnmp.TooBig)
			}
			w.repetitions = max(1, n/2)
		case err == nil && p.Error != gosnmp.NoError:
			return nil, fmt.Errorf("%w: %s", ErrAgent, p.Error)
		case err == nil:
			return nil, fmt.Errorf("%w: it answered nothing", ErrAgent)
		default:
			return nil, classify(err)
		}
	}
}

// before returns an OID whose successor is the given instance, if the agent has it: GETBULK has no other way to ask for one.
func before(oid string) string { return strings.TrimSuffix(oid, ".0") }

// after reports whether OID a follows b, both dotted.
func after(a, b string) bool {
	for a != "" || b != "" {
		if a == "" || b == "" {
			return b == ""
		}
		x, restA, _ := strings.Cut(a, ".")
		y, restB, _ := strings.Cut(b, ".")
		if x != y {
			m, errA := strconv.ParseUint(x, 10, 32)
			n, errB := strconv.ParseUint(y, 10, 32)
			return errA == nil && errB == nil && m > n
		}
		a, b = restA, restB
	}
	return false
}
