package snmp

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"whichlink/probes/snmp/agentsim"
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

// crawled asks agents that serve recordings, and lose one packet in fifty.
func crawled(t *testing.T, files []string) []*System {
	t.Helper()
	var seeds []string
	for _, f := range files {
		seeds = append(seeds, served(t, f, agentsim.Faults{Loss: 0.02}))
	}
	found, err := Crawl(t.Context(), seeds, CrawlConfig{
		Credentials: Credentials{Community: "public"}, Limits: Limits{Timeout: 100 * time.Millisecond, Retries: 8}, Rate: 1e5,
		Within: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, // nobody is asked at the addresses that recordings tell
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range found.Systems {
		if s.Err != nil {
			t.Errorf("%s: %v", s.Name, s.Err)
		}
	}
	return found.Systems
}

// served starts an agent that serves a recording and returns where.
func served(t *testing.T, file string, faults agentsim.Faults) string {
	t.Helper()
	tree, err := agentsim.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	agent, err := agentsim.Start("127.0.0.1:0", "public", tree, faults)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { agent.Close() })
	return agent.Address()
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
	t.Parallel()
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
			systems := crawled(t, recordings(t, c.files))
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
	if testing.Short() {
		t.Skip("one session after the other: there is nothing that could race")
	}
	for file, want := range map[string]string{
		"arista_eos":     "1=Ethernet1 3=Ethernet3 5=Ethernet5 6=Ethernet6 47=Ethernet47 48=Ethernet48",
		"dell-os10":      "4=mgmt1/1/1 612=ethernet1/1/25 616=ethernet1/1/26 628=ethernet1/1/29 632=ethernet1/1/30",
		"edgecos_dcs203": "44=Eth44/1(Port44) 45=Eth40/3(Port45) 46=Eth44/3(Port46) 47=Eth44/4(Port47) 49=Eth49(Port49) 53=Eth50(Port50) 57=Eth51(Port51) 77=Eth56(Port56) 1000=eth0",
		"junos_qfx5100":  "513=xe-0/0/0 518=xe-0/0/1",
		"vrp_5720":       "14=GigabitEthernet0/0/14 49=XGigabitEthernet0/0/1 50=XGigabitEthernet0/0/2 52=XGigabitEthernet0/0/4 901=MEth0/0/1",
	} {
		s := crawled(t, recordings(t, "librenms/"+file+".snmprec.gz"))[0]
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

// TestOddAgents reads a switch whose agent is broken in some way: it takes no longer than it may, and what can be had is had.
func TestOddAgents(t *testing.T) {
	t.Parallel()
	file := recordings(t, "opennms/nms17216/switch1-walk.txt.gz")[0]
	const names = lldpBase + "4.1.1.9"
	for _, c := range []struct {
		about  string
		faults agentsim.Faults
		fails  bool
		hears  int // neighbours whose port and name are known
	}{
		{"sound", agentsim.Faults{}, false, 5},
		{"never ends", agentsim.Faults{Endless: names}, true, 5},
		{"runs in a circle", agentsim.Faults{Loop: names}, true, 5},
		{"breaks off among its own ports", agentsim.Faults{GenErr: lldpBase + "3.7.1.4"}, true, 5},
		{"breaks off in CDP", agentsim.Faults{GenErr: "1.3.6.1.4.1.9.9.23"}, true, 4},
		{"says that numbers are text", agentsim.Faults{Mistyped: "1.3.6.1.2.1"}, false, 5},
		{"sends what nobody asked for", agentsim.Faults{Flood: 5, Repeat: 3}, false, 5},
		{"is silent when asked for much", agentsim.Faults{Silent: 5}, false, 5},
		{"has small packets", agentsim.Faults{MaxValues: 4}, false, 5},
	} {
		limits := Limits{Timeout: 200 * time.Millisecond, Retries: 2, Time: 5 * time.Second, Rows: 5000}
		s := ReadSystem(t.Context(), served(t, file, c.faults), Credentials{Community: "public"}, limits, nil)
		Resolve([]*System{s})
		hears := 0
		for _, h := range s.Hears {
			if h.Port != "" && h.Name != "" {
				hears++
			}
		}
		if (s.Err != nil) != c.fails || hears != c.hears {
			t.Errorf("%s: %d neighbours, error %v", c.about, hears, s.Err)
		}
	}
}
