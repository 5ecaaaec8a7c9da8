package snmp

import (
	"bufio"
	"compress/gzip"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// recordings are real networks, which are not ours to copy. They lie beside the tree, or where the variable says.
func recordings(t testing.TB, glob string) []string {
	root := os.Getenv("WHICHLINK_SNMP_RECORDINGS")
	if root == "" {
		root = "../../../shared/data/snmp"
	}
	files, err := filepath.Glob(filepath.Join(root, glob))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skipf("no recordings %s here", filepath.Join(root, glob))
	}
	return files
}

// recorded reads what an agent said from the output of snmpwalk -On or from a .snmprec file, either of them packed or not.
func recorded(t testing.TB, file string) *System {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var in io.Reader = f
	if strings.HasSuffix(file, ".gz") {
		if in, err = gzip.NewReader(f); err != nil {
			t.Fatal(err)
		}
	}
	values := map[string]Value{}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if oid, v, ok := recordedValue(lines.Text()); ok {
			values[oid] = v
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return tellingAll(filepath.Base(file), values)
}

// tellingAll makes a system of all that an agent has.
func tellingAll(target string, values map[string]Value) *System {
	s := &System{Target: target}
	s.identify(values)
	rows := newTellingRows(s)
	for _, columns := range [][]tellingColumn{portColumns, lldpColumns(LLDP), lldpColumns(LLDPv2), cdpColumns} {
		take := rows.cells(columns)
		for i, c := range columns {
			for oid, v := range values {
				if index, ok := strings.CutPrefix(oid, c.oid+"."); ok {
					take(Cell{i, index, v})
				}
			}
		}
	}
	rows.finish()
	return s
}

// recordedValue reads a line of either form.
func recordedValue(line string) (string, Value, bool) {
	if oid, rest, ok := strings.Cut(line, " = "); ok && strings.HasPrefix(oid, ".") {
		kind, text, _ := strings.Cut(rest, ": ")
		switch kind {
		case "INTEGER", "Gauge32", "Counter32", "Counter64":
			n, err := strconv.ParseUint(text, 10, 64)
			return oid[1:], Value{Type: 2, Number: n}, err == nil
		case "Timeticks":
			n, err := strconv.ParseUint(strings.Trim(strings.SplitN(text, ")", 2)[0], "("), 10, 64)
			return oid[1:], Value{Type: 0x43, Number: n}, err == nil
		case "Hex-STRING":
			raw, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
			return oid[1:], Value{Type: 4, Text: string(raw)}, err == nil
		case "STRING", "IpAddress", `""`:
			text = strings.TrimSpace(text)
			if len(text) > 1 && text[0] == '"' && text[len(text)-1] == '"' {
				text = strings.ReplaceAll(text[1:len(text)-1], `\"`, `"`)
			} else if strings.HasPrefix(oid, ".1.3.6.1.2.1.2.2.1.6.") { // ifPhysAddress, which net-snmp prints in its own way: 0:1b:21:3:4:5
				text = physAddress(text)
			}
			return oid[1:], Value{Type: 4, Text: text}, true
		}
		return "", Value{}, false
	}
	parts := strings.SplitN(line, "|", 3)
	if len(parts) != 3 || strings.HasPrefix(line, "#") {
		return "", Value{}, false
	}
	tag, text := parts[1], parts[2]
	if hexed, ok := strings.CutSuffix(tag, "x"); ok {
		raw, err := hex.DecodeString(text)
		if err != nil {
			return "", Value{}, false
		}
		tag, text = hexed, string(raw)
	}
	switch tag {
	case "2", "65", "66", "67", "70":
		n, err := strconv.ParseUint(text, 10, 64)
		return parts[0], Value{Type: 2, Number: n}, err == nil
	case "4", "64":
		return parts[0], Value{Type: 4, Text: text}, true
	}
	return "", Value{}, false
}

func physAddress(text string) string {
	var raw []byte
	for part := range strings.SplitSeq(text, ":") {
		n, err := strconv.ParseUint(part, 16, 8)
		if err != nil {
			return text
		}
		raw = append(raw, byte(n))
	}
	return string(raw)
}

// linksOf lists the cables between systems that were recorded, each once, and what was heard that is no such cable.
func linksOf(systems []*System) (links, other []string) {
	both := map[string]int{}
	for _, s := range systems {
		for _, h := range s.Hears {
			if h.Far < 0 {
				other = append(other, fmt.Sprintf("%s:%s %s", s.Name, h.Port, h.Name))
				continue
			}
			ends := []string{s.Name + ":" + h.Port, systems[h.Far].Name + ":" + h.FarPort}
			slices.Sort(ends)
			both[strings.Join(ends, " ")]++
		}
	}
	for l, n := range both {
		if n != 2 {
			l += fmt.Sprintf(" (told %d times)", n)
		}
		links = append(links, l)
	}
	slices.Sort(links)
	slices.Sort(other)
	return links, other
}

// TestRecordedNetworks finds the cables of real networks whose cabling is known, and no other.
func TestRecordedNetworks(t *testing.T) {
	for _, c := range []struct {
		files        string
		links, other []string
	}{
		{files: "lab-netsnmp/*.walk.txt", links: []string{"l1:swp1 s1:swp1", "l1:swp2 s2:swp1", "l2:swp1 s1:swp2", "l2:swp2 s2:swp2"}},
		{
			// LocalPortNum 0, cables of one virtual chassis to itself, and no IF-MIB.
			files: "opennms/nms0123/*.txt.gz",
			links: []string{
				"ITPN0111:538 ITPN0111:617", "ITPN0111:633 ITPN0112:622", "ITPN0111:639 ITPN0201:626", "ITPN0112:624 ITPN0113:623",
				"ITPN0113:625 ITPN0202:628", "ITPN0114:622 ITPN0201:630", "ITPN0114:624 ITPN0121:622", "ITPN0123:538 ITPN0123:604",
				"ITPN0123:627 ITPN0202:626", "ITPN0201:628 ITPN0202:622",
			},
			other: []string{
				"ITPN0201:539 POE_TEL_Serwerownia", "ITPN0201:657 VCEX23C433100CW SERIAL NO:3C433100CW BAY:2", "ITPN0201:659 VCEX23C4331009G SERIAL NO:3C4331009G BAY:1",
			},
		},
		{
			// LLDP between the first three switches, CDP for the rest; LocalPortNum is an ifIndex of something else.
			files: "opennms/nms17216/*-walk.txt.gz",
			links: []string{
				"Router1:Fa0/0 Switch1:Gi0/1", "Router1:Se0/0/0 Router2:Se0/0/0", "Router2:Se0/0/1 Router3:Se0/0/1", "Router3:Gi0/0 Router4:Gi0/1",
				"Router3:Gi0/1 Switch4:Fa0/1", "Switch1:Gi0/10 Switch2:Gi0/2", "Switch1:Gi0/11 Switch2:Gi0/3", "Switch1:Gi0/12 Switch2:Gi0/4",
				"Switch1:Gi0/9 Switch2:Gi0/1", "Switch2:Gi0/19 Switch3:Fa0/19", "Switch2:Gi0/20 Switch3:Fa0/20", "Switch3:Fa0/23 Switch5:Fa0/1",
				"Switch3:Fa0/24 Switch5:Fa0/13",
			},
		},
	} {
		t.Run(c.files, func(t *testing.T) {
			var systems []*System
			for _, f := range recordings(t, c.files) {
				systems = append(systems, recorded(t, f))
			}
			for _, n := range Resolve(systems) {
				t.Log(n)
			}
			links, other := linksOf(systems)
			if d := cmp.Diff(c.links, links); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(c.other, other); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestRecordedPorts finds the ports of recorded switches whose LLDP numbers are not ifIndexes, or are those of other interfaces.
func TestRecordedPorts(t *testing.T) {
	for file, want := range map[string]string{
		"arista_eos":     "1=Ethernet1 3=Ethernet3 5=Ethernet5 6=Ethernet6 47=Ethernet47 48=Ethernet48",
		"dell-os10":      "4=mgmt1/1/1 612=ethernet1/1/25 616=ethernet1/1/26 628=ethernet1/1/29 632=ethernet1/1/30",
		"edgecos_dcs203": "44=Eth44/1(Port44) 45=Eth40/3(Port45) 46=Eth44/3(Port46) 47=Eth44/4(Port47) 49=Eth49(Port49) 53=Eth50(Port50) 57=Eth51(Port51) 77=Eth56(Port56) 1000=eth0",
		"junos_qfx5100":  "513=xe-0/0/0 518=xe-0/0/1",
		"vrp_5720":       "14=GigabitEthernet0/0/14 49=XGigabitEthernet0/0/1 50=XGigabitEthernet0/0/2 52=XGigabitEthernet0/0/4 901=MEth0/0/1",
	} {
		s := recorded(t, recordings(t, "librenms/"+file+".snmprec.gz")[0])
		Resolve([]*System{s})
		var got []string
		for _, h := range s.Hears {
			got = append(got, fmt.Sprintf("%d=%s", h.Number, h.Port))
		}
		if d := cmp.Diff(want, strings.Join(got, " ")); d != "" {
			t.Errorf("%s: %s", file, d)
		}
	}
}
