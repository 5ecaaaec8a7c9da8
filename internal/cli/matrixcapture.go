package cli

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"whichlink/graphs"
	"whichlink/pathfind/whatif"
)

// A capturedTable is the flows of captures, as whichlink pcap -o csv writes them: where its columns are, and what was added up so far.
type capturedTable struct {
	src, dst, bytes, first, last int
	octets                       map[[2]graphs.NodeID]float64
	pairs                        [][2]graphs.NodeID // in the order of the file
	from, to                     time.Time
}

// asCaptured returns the table that a first line announces; nil if it announces none.
func asCaptured(header []string) *capturedTable {
	at := func(name string) int { return slices.Index(header, name) }
	t := &capturedTable{src: at("src"), dst: at("dst"), bytes: at("bytes"), first: at("first"), last: at("last"), octets: map[[2]graphs.NodeID]float64{}}
	if min(t.src, t.dst, t.bytes, t.first, t.last) < 0 {
		return nil
	}
	return t
}

// read takes in the lines behind the header.
func (t *capturedTable) read(lines *csv.Reader, f *graphs.Fabric) error {
	for {
		fields, err := lines.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := t.add(fields, f); err != nil {
			line, _ := lines.FieldPos(0)
			return &csv.ParseError{StartLine: line, Line: line, Err: err}
		}
	}
}

// add takes in a flow. One with an end that the fabric does not have is passed over: captures hold more than the fabric's own traffic.
func (t *capturedTable) add(fields []string, f *graphs.Fabric) error {
	if most := max(t.src, t.dst, t.bytes, t.first, t.last); len(fields) <= most {
		return fmt.Errorf("%d fields, expected %d and more", len(fields), most+1)
	}
	bytes, err := strconv.ParseUint(fields[t.bytes], 10, 64)
	if err != nil {
		return fmt.Errorf("%q, expected a number of bytes", graphs.Clean(fields[t.bytes]))
	}
	for _, i := range [...]int{t.first, t.last} {
		at, err := time.Parse(time.RFC3339Nano, fields[i])
		if err != nil {
			return fmt.Errorf("%q, expected a time such as 2026-11-20T08:00:00Z", graphs.Clean(fields[i]))
		}
		if t.from.IsZero() || at.Before(t.from) {
			t.from = at
		}
		if at.After(t.to) {
			t.to = at
		}
	}
	src, unknown := nodeNamed(f, strings.TrimSpace(fields[t.src]))
	dst, elsewhere := nodeNamed(f, strings.TrimSpace(fields[t.dst]))
	if unknown != nil || elsewhere != nil || src == dst {
		return nil
	}
	pair := [2]graphs.NodeID{src, dst}
	if _, again := t.octets[pair]; !again {
		t.pairs = append(t.pairs, pair)
	}
	t.octets[pair] += float64(bytes)
	return nil
}

// flows returns the traffic of each pair in bit/s: a mean from the first packet of all to the last.
func (t *capturedTable) flows() ([]whatif.Flow, error) {
	span := t.to.Sub(t.from).Seconds()
	switch {
	case len(t.pairs) == 0:
		return nil, errors.New("no flows between nodes of the fabric")
	case !(span > 0):
		return nil, errors.New("all packets at one moment: that is no rate")
	}
	var flows []whatif.Flow
	for _, p := range t.pairs {
		flows = append(flows, whatif.Flow{Src: p[0], Dst: p[1], Rate: min(8*t.octets[p]/span, math.MaxInt64)})
	}
	return flows, nil
}
