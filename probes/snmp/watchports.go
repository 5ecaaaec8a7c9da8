package snmp

import (
	"context"
	"strconv"

	"whichlink/graphs"
	"whichlink/internal/evidence"
)

// A portReader reads what the ports of one agent are called and count.
type portReader interface {
	// read returns what could be read; on an error that may be less than all.
	read(ctx context.Context) (portsTold, error)
	close()
}

// portsTold are the names of ports by ifIndex, records that have them as their Port, and how many requests that took.
type portsTold struct {
	names    map[uint32]string
	records  []*evidence.Record
	requests int
}

// nameReader reads names.
type nameReader struct {
	target      string
	credentials Credentials
	limits      Limits
	session     *Session
}

func newPortReader(target string, c Credentials, l Limits) portReader {
	return &nameReader{target: target, credentials: c, limits: l}
}

func (n *nameReader) read(ctx context.Context) (portsTold, error) {
	told := portsTold{names: map[uint32]string{}}
	if n.session == nil {
		s, err := Dial(ctx, n.target, n.credentials, n.limits)
		if err != nil {
			return told, err
		}
		n.session = s
	}
	asked := n.session.Requests()
	err := n.session.Sweep(ctx, nil, []string{"1.3.6.1.2.1.2.2.1.2", "1.3.6.1.2.1.31.1.1.1.1"}, func(c Cell) {
		index, err := strconv.ParseUint(c.Index, 10, 31)
		if name := graphs.Clean(c.Value.Text); err == nil && name != "" {
			if c.Column == 1 || told.names[uint32(index)] == "" {
				told.names[uint32(index)] = name
			}
		}
	}, nil)
	told.requests = n.session.Requests() - asked
	return told, err
}

func (n *nameReader) close() {
	if n.session != nil {
		_ = n.session.Close()
	}
}
