package snmp

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gosnmp/gosnmp"
)

// A Cell is one value of a table.
type Cell struct {
	Column int // index into the columns of the sweep
	// Index is the instance: what follows the column's OID. It is good until the next cell comes.
	Index OID
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
	s.client.begin(ctx)
	defer s.client.end()
	w := sweep{Session: s, scalars: mustOIDs(scalars), columns: mustOIDs(columns), cell: cell, scalar: scalar, last: mustOIDs(columns), rows: make([]int, len(columns)),
		ended: make([]bool, len(columns))}
	for i, o := range w.columns {
		if !s.lacks(o) {
			w.active = append(w.active, i)
		}
	}
	for len(w.active) > 0 {
		if err := w.step(ctx); err != nil {
			if ctx.Err() != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
				err = fmt.Errorf("%w: %s for one sweep", ErrLimit, s.limits.Time)
			}
			return fmt.Errorf("%s: %w", s.target, err)
		}
	}
	if w.failed != nil {
		return fmt.Errorf("%s: %w", s.target, w.failed)
	}
	return nil
}

// A sweep is the state of Session.Sweep.
type sweep struct {
	*Session
	scalars, columns []OID
	cell             func(Cell)
	scalar           func(int, Value)

	active []int // columns that have not ended, those whose turn it is first
	ended  []bool
	asked  int // of the active columns, how many had their turn
	failed error
	last   []OID // by column, the last one seen
	rows   []int // by column
	bytes  int
	names  []OID // of a request
}

// step asks for the next rows. Where the agent reports an error it is asked again for one row, and then for one column at a time, so that an error of one
// object, which may stand behind the table, costs nothing but the column that leads to it.
func (w *sweep) step(ctx context.Context) error {
	columns := slices.Clone(w.active[:min(len(w.active), w.width)])
	err := w.ask(ctx, columns, mostRepetitions)
	if errors.Is(err, errStatus) {
		err = w.ask(ctx, columns, 1)
	}
	switch {
	case errors.Is(err, errNarrow) && len(columns) > 1:
		w.width = len(columns) / 2
	case errors.Is(err, errStatus):
		for _, c := range columns {
			switch err := w.ask(ctx, []int{c}, 1); {
			case errors.Is(err, errStatus):
				w.ended[c], w.failed = true, fmt.Errorf("%w behind %s", err, w.last[c])
			case err != nil:
				return err
			}
		}
	case err != nil:
		return err
	}
	// Columns that had no room take their turn: those asked go to the end of the line.
	active := w.active[min(len(w.active), w.asked):]
	if active = append(slices.Clone(active), w.active[:w.asked]...); len(active) == 0 {
		return nil
	}
	w.active = slices.DeleteFunc(active, func(c int) bool { return w.ended[c] })
	return nil
}

// ask sends one request for columns, with at most so many repetitions, and takes in what comes.
func (w *sweep) ask(ctx context.Context, columns []int, repetitions int) error {
	w.asked = 0
	w.names = w.names[:0]
	for _, o := range w.scalars {
		w.names = append(w.names, before(o))
	}
	for _, c := range columns {
		w.names = append(w.names, w.last[c])
	}
	vars, err := w.bulk(ctx, len(columns), repetitions)
	if err != nil {
		return err
	}
	for i := range w.scalars {
		if i >= len(vars) {
			return fmt.Errorf("%w: it answered nothing", ErrAgent)
		}
		if vars[i].there && slices.Equal(vars[i].name, w.scalars[i]) {
			w.scalar(i, vars[i].value)
		}
	}
	vars = vars[len(w.scalars):]
	if len(vars) == 0 {
		return fmt.Errorf("%w: its answers hold no row", ErrAgent)
	}
	// What an agent's packets have no room for (RFC 3416, 4.2.3) is asked in its turn.
	columns = columns[:min(len(columns), len(vars))]
	for i := range vars {
		c := columns[i%len(columns)]
		if w.ended[c] {
			continue
		}
		if w.ended[c], err = w.take(c, &vars[i]); err != nil {
			return err
		}
	}
	if len(columns) < len(w.active) {
		w.asked = len(columns)
	}
	return nil
}

// take hands over one cell. It returns whether the column has ended.
func (w *sweep) take(c int, v *binding) (ended bool, err error) {
	index, ok := v.name.in(w.columns[c])
	if !ok || v.ended {
		return true, nil
	}
	if slices.Compare(v.name, w.last[c]) <= 0 {
		return false, fmt.Errorf("%w: OIDs do not increase at %s", ErrAgent, v.name)
	}
	w.last[c] = append(w.last[c][:0], v.name...)
	if !v.there {
		return false, nil
	}
	w.rows[c]++
	w.bytes += v.value.size() + 4*len(index)
	if w.rows[c] > w.limits.Rows || w.bytes > w.limits.Bytes {
		return false, fmt.Errorf("%w: %d rows of %s, %d bytes", ErrLimit, w.rows[c], w.columns[c], w.bytes)
	}
	w.cell(Cell{c, index, v.value})
	return false, nil
}

// errNarrow: the agent cannot answer for as many columns at once. errStatus: it reports another error than tooBig.
var (
	errNarrow = fmt.Errorf("%w: %s", ErrAgent, gosnmp.TooBig)
	errStatus = fmt.Errorf("%w: it reports", ErrAgent)
)

// bulk sends GETBULK for the names of the sweep. An agent that says tooBig, is silent or sends what cannot be read is asked for fewer repetitions; what it could
// not bear is not tried again in this session, since each time costs all retries.
func (w *sweep) bulk(ctx context.Context, columns, most int) ([]binding, error) {
	for {
		n := max(1, min(w.repetitions, varbinds/columns, most))
		w.pace()
		r, err := w.client.exchange(ctx, &query{kind: pduGetBulk, names: w.names, nonRepeaters: len(w.scalars), repetitions: n})
		switch {
		case err == nil && r.status == gosnmp.NoError && len(r.vars) > 0:
			return r.vars, nil
		case err == nil && r.status == gosnmp.TooBig && n == 1:
			return nil, errNarrow
		case err == nil && r.status == gosnmp.TooBig, (errors.Is(err, ErrNoAnswer) || errors.Is(err, errBroken)) && ctx.Err() == nil && n > leastRepetitions:
			w.repetitions = max(1, n/2)
		case err == nil && r.status != gosnmp.NoError:
			return nil, statusError(errStatus, r.status)
		case err == nil:
			return nil, fmt.Errorf("%w: it answered nothing", ErrAgent)
		default:
			return nil, err
		}
	}
}

// before returns an OID whose successor is the given instance, if the agent has it: GETBULK has no other way to ask for one.
func before(o OID) OID {
	if n := len(o) - 1; n >= 0 && o[n] == 0 {
		return o[:n]
	}
	return o
}
