package snmp

import (
	"context"
	"strings"
)

// Columns of etherStatsTable (RMON-MIB, RFC 2819): whose statistics a row holds, and frames with a wrong checksum: of usual length, and longer, as the jumbo
// frames of a data centre are.
const (
	etherStats = "1.3.6.1.2.1.16.1.1.1."

	etherStatsDataSource     = etherStats + "2"
	etherStatsCRCAlignErrors = etherStats + "8"
	etherStatsJabbers        = etherStats + "12"
)

// rmon reads wrong checksums by RMON where EtherLike-MIB does not tell them. Whose rows are whose is found out when names are read.
func (p *reader) rmon(ctx context.Context) error {
	lacks := func(index uint32) bool {
		q := p.ports[index]
		if q == nil {
			return false
		}
		_, told := q.Counts.Get(InFCS)
		return !told
	}
	columns := []string{etherStatsCRCAlignErrors, etherStatsJabbers}
	if p.full {
		p.rows = map[uint32]uint32{}
		wanting := false
		for index := range p.ports {
			wanting = wanting || ethernet[p.labels[index].kind] && lacks(index)
		}
		if !wanting {
			return nil
		}
		columns = append(columns, etherStatsDataSource)
	} else if len(p.rows) == 0 {
		return nil
	}
	bad := map[uint32]uint64{}
	err := p.session.Sweep(ctx, nil, columns, func(c Cell) {
		row, ok := c.Index.port()
		switch {
		case !ok:
		case c.Column < 2 && c.Value.IsNumber():
			bad[row] += c.Value.Number
		case c.Column == 2:
			if of, found := strings.CutPrefix(c.Value.Text, ifEntry+"1."); found {
				if index, ok := portIndex(of); ok && lacks(index) {
					p.rows[row] = index
				}
			}
		}
	}, nil)
	for row, index := range p.rows {
		if n, ok := bad[row]; ok && lacks(index) {
			p.ports[index].Counts.set(InFCS, n&(1<<32-1), false) // both wrap at 32 bits, and so does their sum
		}
	}
	return err
}
