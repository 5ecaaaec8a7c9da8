package snmp

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"whichlink/probes/snmp/agentsim"
	"whichlink/probes/snmp/ber"
)

// An alteration makes of a recording what other devices are like. It returns how what is read differs from what was: the ports' names by ifIndex, and
// whether neighbours are still heard at the same ports.
type alteration struct {
	name string
	make func(tree *agentsim.Tree, was *Reading)
	// index is the ifIndex that a port has then, names whether ports keep their names, neighbours whether they are the same.
	index             func(uint32) uint32
	names, neighbours bool
}

var alterations = []alteration{
	{name: "no ifXTable", make: func(tree *agentsim.Tree, _ *Reading) { tree.Delete("1.3.6.1.2.1.31.1.1") }},
	{name: "no ifDescr", make: func(tree *agentsim.Tree, _ *Reading) { tree.Delete(ifEntry + "2") }},
	{name: "sparse and above 2^31", index: func(i uint32) uint32 { return 3_000_000_000 + 977*i%1_000_000_000 }, names: true, make: func(tree *agentsim.Tree, _ *Reading) {
		tree.Move(func(id []uint32) []uint32 {
			text := joined(id)
			for _, table := range []string{ifEntry, ifXEntry, dot3Stats, dot3HC, dot3Pause} {
				if strings.HasPrefix(text, table) {
					id[len(id)-1] = 3_000_000_000 + 977*id[len(id)-1]%1_000_000_000
				}
			}
			return id
		})
	}},
	{name: "all of one name", make: func(tree *agentsim.Tree, was *Reading) {
		for _, q := range was.Ports {
			tree.Set(fmt.Sprintf("%s1.%d", ifXEntry, q.Index), ber.OctetString, "port")
			tree.Set(fmt.Sprintf("%s2.%d", ifEntry, q.Index), ber.OctetString, "port")
		}
	}},
	{name: "hostile names", make: func(tree *agentsim.Tree, was *Reading) {
		evil := "\x1b[2J\r\n\xff\u202e" + strings.Repeat("x", 20_000)
		for _, q := range was.Ports[:min(len(was.Ports), 5)] {
			for _, oid := range []string{ifXEntry + "1", ifXEntry + "18", ifEntry + "2"} {
				tree.Set(fmt.Sprintf("%s.%d", oid, q.Index), ber.OctetString, evil)
			}
		}
		for _, oid := range instancesOf(tree, lldpBase+"4.1.1") {
			if strings.HasPrefix(oid, lldpBase+"4.1.1.9.") || strings.HasPrefix(oid, lldpBase+"4.1.1.7.") || strings.HasPrefix(oid, lldpBase+"4.1.1.5.") {
				tree.Set(oid, ber.OctetString, evil)
			}
		}
	}},
	{name: "LLDP-V2-MIB alone", names: true, neighbours: true, make: func(tree *agentsim.Tree, was *Reading) {
		ifIndex := map[uint32]uint32{}
		for _, n := range was.Neighbours {
			if n.row.protocol == LLDP && n.index != 0 {
				ifIndex[n.row.number] = n.index
			}
		}
		remote, local := strings.Split(lldpBase+"4.1.1", "."), lldpBase+"3.7.1."
		tree.Move(func(id []uint32) []uint32 {
			text := joined(id)
			switch {
			case strings.HasPrefix(text, local):
				return nil // the number of a port is its ifIndex
			case strings.HasPrefix(text, lldpBase+"4.1.1.") && len(id) == len(remote)+4:
				c, rest := id[len(remote)], id[len(remote)+1:]
				index, ok := ifIndex[rest[1]]
				if !ok {
					return nil
				}
				moved, _ := parseOID(fmt.Sprintf("%s4.1.1.%d.%d.%d.1.%d", lldpV2Base, c+1, rest[0], index, rest[2]))
				return moved
			case strings.HasPrefix(text, lldpBase+"4.2."), strings.HasPrefix(text, cdpBase):
				return nil
			}
			return id
		})
	}},
	{name: "LLDP knows ports by description alone", names: true, make: func(tree *agentsim.Tree, _ *Reading) {
		tree.Delete(lldpBase + "3.7.1.2")
		tree.Delete(lldpBase + "3.7.1.3")
	}},
	{name: "all numbers are texts", make: func(tree *agentsim.Tree, was *Reading) {
		for _, q := range was.Ports {
			for _, column := range []string{"5", "7", "14"} {
				tree.Set(fmt.Sprintf("%s%s.%d", ifEntry, column, q.Index), ber.OctetString, "n/a")
			}
		}
	}, names: true, neighbours: true},
}

// instancesOf are the OIDs below one.
func instancesOf(tree *agentsim.Tree, prefix string) (list []string) {
	tree.Clone().Move(func(id []uint32) []uint32 {
		if text := joined(id); strings.HasPrefix(text, prefix+".") {
			list = append(list, text)
		}
		return id
	})
	return list
}

func joined(id []uint32) string {
	parts := make([]string, len(id))
	for i, n := range id {
		parts[i] = strconv.FormatUint(uint64(n), 10)
	}
	return strings.Join(parts, ".")
}

// altereds is in how many parts the test is played: each recording gets one in so many alterations.
const altereds = 8

var all = flag.Bool("all", false, "make every alteration of every recording")

// TestAltered reads recordings that were altered to be like other devices: no port may be lost, added or called like another, and no neighbour be heard at
// a port that did not hear it.
func TestAltered(t *testing.T) {
	if testing.Short() {
		t.Skip("one session after the other: there is nothing that could race")
	}
	t.Parallel()
	for k, file := range allRecordings(t) {
		tree := load(t, file)
		was := newAgent(t, start(t, tree.Clone(), agentsim.Faults{}), Limits{}).Read(context.Background())
		for i, c := range alterations {
			if (i+k)%altereds > 0 && !*all {
				continue
			}
			altered := tree.Clone()
			c.make(altered, was)
			sim := start(t, altered, agentsim.Faults{})
			r := newAgent(t, sim, Limits{}).Read(context.Background())
			sys := ReadSystem(context.Background(), sim.Address(), Credentials{Community: "public"}, Limits{}, nil)
			_ = sim.Close()
			what := filepath.Base(file) + ", " + c.name
			if r.Err != nil || sys.Err != nil {
				t.Errorf("%s: %v, %v", what, r.Err, sys.Err)
			}
			c.compare(t, what, was, r)
			Resolve([]*System{sys})
			for _, text := range shownBy(r, sys) {
				if strings.ContainsFunc(text, func(x rune) bool { return !unicode.IsPrint(x) }) || len(text) > 2000 {
					t.Errorf("%s: %.80q is shown", what, text)
				}
			}
		}
	}
}

// compare holds a reading of an altered recording against that of the recording.
func (c *alteration) compare(t *testing.T, what string, was, r *Reading) {
	t.Helper()
	if len(r.Ports) != len(was.Ports) {
		t.Errorf("%s: %d ports of %d", what, len(r.Ports), len(was.Ports))
	}
	names := map[string]bool{}
	for i := range r.Ports {
		if names[r.Ports[i].Name] {
			t.Errorf("%s: two ports are called %s", what, r.Ports[i].Name)
		}
		names[r.Ports[i].Name] = true
	}
	named := map[uint32]string{}
	for i := range was.Ports {
		p := &was.Ports[i]
		index := p.Index
		if c.index != nil {
			index = c.index(index)
		}
		q := r.Port(index)
		switch {
		case q == nil:
			t.Errorf("%s: port %d is not told", what, index)
		case c.names && q.Name != p.Name, q.Oper != p.Oper:
			t.Errorf("%s: port %d is %s and %s, was %s and %s", what, index, q.Name, q.Oper, p.Name, p.Oper)
		default:
			named[p.Index] = q.Name
		}
	}
	heard := func(r *Reading, name func(n *Neighbour) string) map[string]bool {
		all := map[string]bool{}
		for i := range r.Neighbours {
			if n := &r.Neighbours[i]; n.index != 0 && n.row.protocol != CDP {
				all[name(n)+" hears "+n.Chassis+" "+n.RemotePort] = true
			}
		}
		return all
	}
	if !c.names {
		return
	}
	before, after := heard(was, func(n *Neighbour) string { return named[n.index] }), heard(r, func(n *Neighbour) string { return n.Port })
	for _, text := range slices.Sorted(maps.Keys(after)) {
		if !before[text] {
			t.Errorf("%s: %s, which it did not", what, text)
		}
	}
	if c.neighbours && len(after) != len(before) {
		t.Errorf("%s: %d neighbours of %d", what, len(after), len(before))
	}
}

// shownBy is all text of a reading that may be shown.
func shownBy(r *Reading, s *System) []string {
	list := []string{r.Name, s.Name, s.SysName, s.Chassis.Text}
	for _, q := range r.Ports {
		list = append(list, q.Name, q.Alias)
	}
	for _, n := range r.Neighbours {
		list = append(list, n.Port, n.Chassis, n.System, n.RemotePort)
	}
	for i := range s.Hears {
		h := &s.Hears[i]
		list = append(list, h.Name, h.Chassis.Text, h.PortID.Text, h.PortDescr, h.Port, h.FarPort)
	}
	return list
}
