// Package evidence is the record that every source writes and every reasoner reads, and its JSON Lines form.
//
// A record says that something was measured: an echo along a flow, a hop of a trace, a path that a flow was seen to take.
// It carries counts and names, never opinions: what the counts mean is for pathfind/localize to say.
// A field that was not measured is absent (a nil pointer, an empty slice), never zero.
package evidence

import (
	"net/netip"
	"time"
)

// Version is the version of the record's form, the field v.
const Version = 1

// A Source says what measured.
type Source string

// The sources.
const (
	SourceProbe Source = "probe"
	SourceSNMP  Source = "snmp"
	SourcePcap  Source = "pcap"
	SourceNote  Source = "note"
)

// A Kind says what a record of a source holds.
type Kind string

// The kinds that are known. Readers skip and count others.
const (
	// KindEcho counts probes that were sent along one flow to a reflector or another answering host, and what came back.
	KindEcho Kind = "echo"
	// KindHop counts TTL-limited probes of one flow and the answers of one hop. Unanswered is not lost.
	KindHop Kind = "hop"
	// KindPath states the path that a flow was seen to take at a moment, and how the flow was confirmed or changed.
	KindPath Kind = "path"
	// KindPlan states what a source was set to measure, so that what is missing can be told.
	KindPlan Kind = "plan"
	// KindFlow counts what a capture tells of one direction of a flow.
	KindFlow Kind = "flow"
	// KindFinding is something that a capture proves.
	KindFinding Kind = "finding"
	// KindStrain says when a host that measures or answers was too busy for it, and what it did to probes then: those are no network's loss.
	KindStrain Kind = "strain"
	// KindNote is free text.
	KindNote Kind = "note"
)

// A Strain is what a busy host does to probes.
type Strain string

// The strains. Readers pass over others.
const (
	// Overflow: messages were lost at the host's socket, for which there was no room as nobody read the others.
	Overflow Strain = "overflow"
	// Overdue: probes were counted as lost as the host kept them or their answers waiting. They came after all.
	Overdue Strain = "overdue"
	// Late: likewise, but neither end says that it kept them waiting.
	Late Strain = "late"
	// Refused: the host's own queues or filters dropped probes that it was to send, or its answers.
	Refused Strain = "refused"
	// Pause: the host's prober did not run, or its machine did not. By the host itself only, and without a count.
	Pause Strain = "pause"
)

// A Flow is the fields that a switch hashes.
type Flow struct {
	Src     netip.Addr `json:"src"`
	Dst     netip.Addr `json:"dst"`
	Proto   string     `json:"proto"`
	SrcPort uint16     `json:"sport"`
	DstPort uint16     `json:"dport"`
	DSCP    uint8      `json:"dscp"`
	// Label is the IPv6 flow label, 0 where it is not used.
	Label uint32 `json:"flow_label,omitempty"`
}

// Delay is the distribution of a round-trip time, in microseconds.
type Delay struct {
	Min float64 `json:"min"`
	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// A Record is one line of evidence. Arcs and nodes are written by name: node:port>node:port.
type Record struct {
	V      int       `json:"v"`
	Time   time.Time `json:"time"` // end of the window, UTC
	Source Source    `json:"source"`
	By     string    `json:"by"`
	// Epoch names, within By, a stretch of time in which no path of By's flows was seen to change.
	Epoch string `json:"epoch"`
	Kind  Kind   `json:"kind"`

	Flow *Flow `json:"flow,omitempty"`
	// Path is the arcs that the flow crosses from its source to its destination, Back those of the answers. Absent where unknown.
	Path []string `json:"path,omitempty"`
	Back []string `json:"back,omitempty"`
	// Candidates are the paths of which one is the flow's, where a trace left more than one open; CandidatesBack the same for the answers.
	Candidates     [][]string `json:"candidates,omitempty"`
	CandidatesBack [][]string `json:"candidates_back,omitempty"`

	// Sent and Lost count probes whose time to be answered has passed. Sent = answered + Lost.
	Sent *int `json:"sent,omitempty"`
	Lost *int `json:"lost,omitempty"`
	// LostForward and LostBack split Lost by the reflector's own count; LostForward + LostBack <= Lost, the rest could not be told.
	LostForward *int `json:"lost_forward,omitempty"`
	LostBack    *int `json:"lost_back,omitempty"`
	// CorruptForward and CorruptBack count probes that arrived with a changed payload, by direction.
	CorruptForward *int `json:"corrupt_forward,omitempty"`
	CorruptBack    *int `json:"corrupt_back,omitempty"`
	// LostAtMS are the send times of lost probes, in milliseconds after the window's start; at most MaxLostAt of them.
	LostAtMS []int  `json:"lost_at_ms,omitempty"`
	RTT      *Delay `json:"rtt_us,omitempty"`
	WindowMS int    `json:"window_ms,omitempty"`
	// AheadMS is by how much the clock of the host that answers is ahead of By's, in milliseconds.
	AheadMS *int `json:"ahead_ms,omitempty"`
	// Method says how answers were got where there was no reflector: tcp-syn or port-unreachable.
	Method string `json:"method,omitempty"`
	// Size is the length of the flow's echoes in bytes from the IP header on, where it is not the default.
	Size int `json:"size,omitempty"`

	// Of a hop:
	TTL int `json:"ttl,omitempty"`
	// Node is the fabric's name for the node that answered; absent where the address is not known to the fabric. Address is also that of the host that a finding is about, where
	// that names it otherwise.
	Node    string `json:"node,omitempty"`
	Address string `json:"address,omitempty"`
	// Answered counts answers; absent means not measured, zero that nobody answered.
	Answered *int `json:"answered,omitempty"`

	// Of a strain: which. Node is the host that was too busy, Count how many probes it did that to. The window is, by the clock of By, when those
	// were sent, or when the pause was.
	Strain Strain `json:"strain,omitempty"`

	// Of a path: PreviousTime is when the flow was last seen on Path (confirmed), or on another (Changed).
	PreviousTime *time.Time `json:"previous_time,omitempty"`
	Changed      bool       `json:"changed,omitempty"`

	// Of a flow in a capture: Packets that were captured, segments LostBefore and LostAfter the point of capture, Retransmitted and
	// OutOfOrder, and packets marked with Congestion Experienced.
	Packets       *int `json:"packets,omitempty"`
	LostBefore    *int `json:"lost_before,omitempty"`
	LostAfter     *int `json:"lost_after,omitempty"`
	Retransmitted *int `json:"retransmitted,omitempty"`
	OutOfOrder    *int `json:"out_of_order,omitempty"`
	CE            *int `json:"ce,omitempty"`
	// Data counts, at least, those of Packets whose loss would show: they carry payload. At is the node or port of the fabric where
	// the capture was taken, absent where that is not known.
	Data *int   `json:"data,omitempty"`
	At   string `json:"at,omitempty"`
	// Of a flow that two captures have: LostBetween of Packets were seen at the first only. At is where that was taken, To where the
	// second was, in the order in which the flow passes them. What the capture at At tells alone of such a flow has the other's place as To as well, and
	// tells nothing of what lies between the two.
	LostBetween *int   `json:"lost_between,omitempty"`
	To          string `json:"to,omitempty"`

	// Of a finding: its name, how bad it is, what it is about, how often, how it was told, and a display filter that shows its packets. Count is also how often what
	// an event tells has happened.
	Finding  string `json:"finding,omitempty"`
	Severity string `json:"severity,omitempty"`
	Subject  string `json:"subject,omitempty"`
	Count    *int   `json:"count,omitempty"`
	Rule     string `json:"rule,omitempty"`
	Filter   string `json:"filter,omitempty"`

	// Of a port: its counters, an event, its neighbour.
	PortState

	// Text is a note's text, a plan's, or a finding's; of an event it says what told.
	Text string `json:"text,omitempty"`
}

const (
	// MaxLostAt bounds Record.LostAtMS.
	MaxLostAt = 128
	// MaxCandidates bounds the lists of paths that a prober writes down: of more, none is listed.
	MaxCandidates = 16
)

// Int returns a pointer to n, for the fields that may be absent.
func Int(n int) *int { return &n }

// Start returns when the record's window or interval began.
func (r *Record) Start() time.Time {
	return r.Time.Add(-time.Duration(max(r.WindowMS, r.IntervalMS)) * time.Millisecond)
}
