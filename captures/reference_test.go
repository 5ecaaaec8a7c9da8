package captures

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// A reference is what tshark 4.0.17 says of a capture.
type reference struct {
	Packets   int64          `json:"packets"`
	Truncated int64          `json:"truncated_packets"`
	TCP       int            `json:"tcp_streams"`
	UDP       int            `json:"udp_streams"`
	Analysis  map[string]int `json:"tcp_analysis"`
}

// The rules by which we count otherwise than tshark. Each difference in the table below follows one.
const (
	// Packets seen twice are counted apart; tshark takes them for retransmissions and duplicate acknowledgements, and for what
	// was seen last.
	ruleCopies = "copies"
	// A retransmission is fast if the acknowledgement that it answers was repeated; tshark lets repetitions of an older one do.
	ruleStale = "repetitions of an older acknowledgement do not count"
	// A segment that repeats one byte and brings new ones begins before what was seen; tshark takes the byte for a probe.
	ruleProbe = "a byte that came alone was data"
	// Only packets are packets; tshark counts custom blocks of pcapng too.
	ruleCustom = "custom blocks are no packets"
)

// A difference is what we count, and the rule by which it is not what tshark counts.
type difference struct {
	ours int
	rule string
}

// differences lists what we count otherwise than tshark.
var differences = map[string]map[string]difference{
	"ndpi__fix2.pcap": {
		"retransmission": {134, ruleCopies}, "fast_retransmission": {64, ruleCopies}, "spurious_retransmission": {64, ruleCopies},
		"duplicate_ack": {1589, ruleCopies},
	},
	"ndpi__rtsp.pcap": {
		"retransmission": {1, ruleCopies}, "fast_retransmission": {0, ruleCopies}, "spurious_retransmission": {0, ruleCopies},
		"duplicate_ack": {0, ruleCopies},
	},
	"ndpi__heuristic_tcp_ack_payload.pcap": {
		"retransmission": {81, ruleCopies}, "spurious_retransmission": {1, ruleCopies}, "out_of_order": {39, ruleCopies},
	},
	"ndpi__weibo.pcap":                          {"retransmission": {40, ruleStale}, "fast_retransmission": {1, ruleStale}, "out_of_order": {10, ruleStale}},
	"gopacket__linux_sll_oversized_addr.pcapng": {"retransmission": {60, ruleCopies}, "spurious_retransmission": {5, ruleCopies}},
	"ppa__double-vision.pcap":                   {"retransmission": {0, ruleCopies}, "duplicate_ack": {0, ruleCopies}},
	"zeek__vlan-collisions.pcap": {
		"retransmission": {1, ruleCopies}, "spurious_retransmission": {0, ruleCopies}, "out_of_order": {1, ruleCopies},
		"duplicate_ack": {0, ruleCopies},
	},
	"zeek__reassembly.pcap":  {"fast_retransmission": {0, ruleStale}},
	"ws__http-ooo2.pcap":     {"out_of_order": {2, ruleCopies}},
	"ws__retrans-tls.pcap":   {"out_of_order": {1, ruleProbe}},
	"ngtest__test202.pcapng": {"packets": {8, ruleCustom}},
}

// TestReference holds the counts of packets, flows and TCP segments against tshark's, on the captures in the repository and on
// those beside it that may not be handed on.
func TestReference(t *testing.T) {
	dirs := []string{permitted}
	if _, err := os.Stat(filepath.Join(shared, "data", "captures")); err == nil {
		dirs = append(dirs, filepath.Join(shared, "data", "captures"))
	}
	seen := map[string]bool{}
	for _, dir := range dirs {
		var all struct {
			Captures map[string]reference `json:"captures"`
		}
		text, err := os.ReadFile(filepath.Join(dir, "reference.json"))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &all); err != nil {
			t.Fatal(err)
		}
		for name, want := range all.Captures {
			path := filepath.Join(dir, name)
			if _, err := os.Stat(path); err != nil || seen[name] {
				continue
			}
			seen[name] = true
			t.Run(name, func(t *testing.T) { compare(t, path, want) })
		}
	}
	if len(seen) < 35 {
		t.Errorf("only %d captures were looked at", len(seen))
	}
}

func compare(t *testing.T, path string, want reference) {
	a, r := analyse(t, Config{}, path)
	name := filepath.Base(path)
	for field, pair := range map[string][2]int{
		"packets":                 {int(r.Packets), int(want.Packets)},
		"truncated":               {int(r.Files[0].Truncated), int(want.Truncated)},
		"tcp flows":               {a.flows.tcp, want.TCP},
		"udp flows":               {a.flows.udp, want.UDP},
		"retransmission":          {int(r.TCP.Retransmission), want.Analysis["retransmission"]},
		"fast_retransmission":     {int(r.TCP.Fast), want.Analysis["fast_retransmission"]},
		"spurious_retransmission": {int(r.TCP.Spurious), want.Analysis["spurious_retransmission"]},
		"out_of_order":            {int(r.TCP.OutOfOrder), want.Analysis["out_of_order"]},
		"lost_segment":            {int(r.TCP.LostSegment), want.Analysis["lost_segment"]},
		"zero_window":             {int(r.TCP.ZeroWindow), want.Analysis["zero_window"]},
		"duplicate_ack":           {int(r.TCP.DuplicateAck), want.Analysis["duplicate_ack"]},
	} {
		if d, listed := differences[name][field]; listed {
			if pair[0] != d.ours {
				t.Errorf("%s: %d, want %d by the rule %q (tshark has %d)", field, pair[0], d.ours, d.rule, pair[1])
			}
			if d.ours == pair[1] {
				t.Errorf("%s: the difference in the table is none", field)
			}
		} else if pair[0] != pair[1] {
			t.Errorf("%s: %d, tshark has %d", field, pair[0], pair[1])
		}
	}
	if r.Files[0].Error != "" {
		t.Errorf("error %s", r.Files[0].Error)
	}
}
