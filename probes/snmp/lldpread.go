package snmp

import (
	"context"
	"errors"
	"maps"
	"net"
	"strings"
)

// ReadSystem asks one agent who it is, what ports it has and whom these hear. Before each packet it calls wait, if that is not nil. What was read
// before an error is kept.
func ReadSystem(ctx context.Context, target string, c Credentials, l Limits, wait func(context.Context)) *System {
	s := &System{Target: target}
	session, err := Dial(ctx, target, c, l)
	if err != nil {
		s.Err = err
		return s
	}
	defer session.Close()
	if at, ok := session.client.remote().(*net.UDPAddr); ok {
		s.Addr = at.AddrPort().Addr().Unmap()
	}
	if wait != nil {
		session.client.before(wait)
	}
	s.Err = s.read(ctx, session)
	s.Requests = session.Requests()
	return s
}

// read asks for the scalars, the ports, and the neighbours by LLDP-MIB, by LLDP-V2-MIB where that tells none, and by CDP. A table that cannot be
// read does not keep the next one from being asked for, unless the agent has fallen silent.
func (s *System) read(ctx context.Context, session *Session) error {
	values, err := readScalars(ctx, session)
	if err != nil && !errors.Is(err, ErrAgent) {
		return err
	}
	s.identify(values)
	rows := newTellingRows(s)
	defer rows.finish()
	for _, columns := range [][]tellingColumn{portColumns, lldpColumns(LLDP), lldpColumns(LLDPv2), cdpColumns} {
		if len(rows.hears) > 0 && strings.HasPrefix(columns[0].oid, lldpV2Base) {
			continue
		}
		failed := rows.read(ctx, session, columns)
		if err == nil {
			err = failed
		}
		if IsSilent(failed) || ctx.Err() != nil {
			break
		}
	}
	return err
}

// readScalars reads them together, or one by one where the agent breaks off.
func readScalars(ctx context.Context, session *Session) (map[string]Value, error) {
	oids := make([]string, len(systemScalars))
	for i := range systemScalars {
		oids[i] = systemScalars[i].oid
	}
	values, err := session.Get(ctx, oids...)
	if !errors.Is(err, ErrAgent) {
		return values, err
	}
	err = nil
	for _, oid := range oids {
		one, failed := session.Get(ctx, oid)
		maps.Copy(values, one)
		switch {
		case failed != nil && !errors.Is(failed, ErrAgent):
			return values, failed
		case err == nil:
			err = failed
		}
	}
	return values, err
}

// read reads some columns together. Where the agent breaks off, as some do at one column of a table, it reads them one by one, so that it loses no
// more than that one.
func (r *tellingRows) read(ctx context.Context, session *Session, columns []tellingColumn) error {
	oids := make([]string, len(columns))
	for i := range columns {
		oids[i] = columns[i].oid
	}
	err := session.Sweep(ctx, nil, oids, r.cells(columns), nil)
	if !errors.Is(err, ErrAgent) {
		return err
	}
	err = nil
	for i := range columns {
		failed := session.Sweep(ctx, nil, oids[i:i+1], r.cells(columns[i:i+1]), nil)
		switch {
		case failed != nil && !errors.Is(failed, ErrAgent):
			return failed
		case err == nil:
			err = failed
		}
	}
	return err
}
