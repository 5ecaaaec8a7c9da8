package captures

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"whichlink/captures/files"
	"whichlink/graphs"
	"whichlink/internal/evidence"
)

// A Severity says how bad a finding is.
type Severity string

// The severities, the worst first.
const (
	Critical Severity = "critical" // packets were lost, changed or held up
	Warning  Severity = "warning"  // a sign of trouble, or of a host's
	Info     Severity = "info"     // to be known when reading the rest
)

// A Finding is something that a capture proves.
type Finding struct {
	Finding  string   `json:"finding"`
	Severity Severity `json:"severity"`
	// Subject is the flow, queue pair, sender or file that it is about.
	Subject string     `json:"subject"`
	Count   int64      `json:"count"`
	From    *time.Time `json:"from"`
	To      *time.Time `json:"to"`
	Text    string     `json:"text"`
	// Address is that of the host that the subject is, which is named by its address of Ethernet; "" where that is none, or is not known to be one.
	Address string `json:"address,omitempty"`
	// Rule is how it was told, Filter a Wireshark display filter that shows its packets, "" where a finding sums up others for which there is none.
	Rule   string `json:"rule"`
	Filter string `json:"filter"`

	// least is set of a finding that sums up the rest of its kind: the count of the last that was told singly.
	least  int64
	others int    // how many it sums up
	dated  bool   // its times need the day
	number int    // in the report, from 1 on
	like   string // a display filter for the packets of all such findings, whatever they are about; "" if there is none

	about Choice // its packets and those around them, at any time
}

// sliceMargin is how long before and after a finding packets still belong to it, so that they show how it came about.
const sliceMargin = 1_000_000_000

// Choice chooses the packets of a finding with what surrounds them: of the flow, hosts or sender that it is about, from a second before
// to a second after.
func (f *Finding) Choice() Choice {
	c := f.about
	if f.From != nil && f.To != nil {
		c.From, c.To = f.From.UnixNano()-sliceMargin, f.To.UnixNano()+sliceMargin
	}
	return c
}

// A FileReport is what a file held.
type FileReport struct {
	File      string     `json:"file"`
	Packets   int64      `json:"packets"`
	Bytes     int64      `json:"bytes"`
	Captured  int64      `json:"captured"`
	Truncated int64      `json:"truncated"`
	From      *time.Time `json:"from"`
	To        *time.Time `json:"to"`
	LinkTypes []string   `json:"link_types"`
	// NotDecoded are those of the link types of which packets are counted and nothing else is known.
	NotDecoded []string `json:"link_types_not_decoded,omitempty"`
	// Dropped is what the capture says that it dropped itself; absent where it does not say.
	Dropped *uint64 `json:"dropped,omitempty"`
	Error   string  `json:"error"`
}

// TCPCounts counts segments. Retransmission counts fast and spurious ones too, as Wireshark's field of that name does.
type TCPCounts struct {
	Flows          int    `json:"flows"`
	Retransmission uint32 `json:"retransmission"`
	Fast           uint32 `json:"fast_retransmission"`
	Spurious       uint32 `json:"spurious_retransmission"`
	// Unneeded counts retransmissions of what had arrived and was not acknowledged yet, as the receiver says (D-SACK, RFC 2883).
	Unneeded    uint32 `json:"unneeded_retransmission"`
	OutOfOrder  uint32 `json:"out_of_order"`
	LostSegment uint32 `json:"lost_segment"`
	// Copies counts segments that were captured twice; they are in no other count.
	Copies int64 `json:"copies"`
	// LostBefore and LostAfter count segments lost before and behind the point of capture, Missed those that the capture missed.
	LostBefore uint32 `json:"lost_before"`
	LostAfter  uint32 `json:"lost_after"`
	Missed     uint32 `json:"missed_by_capture"`
	ZeroWindow uint32 `json:"zero_window"`
	// Timeouts counts retransmission timeouts, of which TimeoutsUnseen lost a segment before the point of capture and show a silence only.
	Timeouts       uint32 `json:"timeouts"`
	TimeoutsUnseen uint32 `json:"timeouts_unseen"`
	DuplicateAck   uint32 `json:"duplicate_ack"`
}

// RoCECounts counts what happened to queue pairs.
type RoCECounts struct {
	Packets    int64 `json:"packets"`
	QueuePairs int   `json:"queue_pairs"`
	// Gaps counts holes in the sequence, GapPackets what is missing in them.
	Gaps          uint32 `json:"gaps"`
	GapPackets    uint32 `json:"gap_packets"`
	NAKSequence   uint32 `json:"nak_sequence"`
	NAKOther      uint32 `json:"nak_other"`
	RNR           uint32 `json:"rnr"`
	CNP           uint32 `json:"cnp"`
	Retransmitted uint32 `json:"retransmitted"`
	GoBackN       uint32 `json:"go_back_n"`
	LostAfter     uint32 `json:"lost_after"`
	TimeoutStalls uint32 `json:"timeout_stalls"`
	ICRCBad       uint32 `json:"icrc_bad"`
	ICRCChecked   uint64 `json:"icrc_checked"`
	CE            uint32 `json:"ce"`
}

// ECNCounts counts packets by what routers wrote into them.
type ECNCounts struct {
	CE int64 `json:"ce"`
}

// PauseCounts counts MAC control frames that pause.
type PauseCounts struct {
	Frames int64 `json:"frames"`
	// Storms counts stretches in which a class was paused without break for longer than StormTime.
	Storms int `json:"storms"`
}

// A Report is all that was found.
type Report struct {
	Files   []FileReport `json:"files"`
	Packets int64        `json:"packets"`
	Flows   int          `json:"flows"`
	TCP     TCPCounts    `json:"tcp"`
	RoCE    RoCECounts   `json:"roce"`
	ECN     ECNCounts    `json:"ecn"`
	PFC     PauseCounts  `json:"pfc"`
	// RTT is the round trip between the point of capture and the receivers of all flows, nil if none was measured.
	RTT      *evidence.Delay `json:"rtt_us,omitempty"`
	Findings []Finding       `json:"findings"`
	// Taps compares each file with the next, if that was asked for. Then all else is of the first file alone.
	Taps []TapReport `json:"taps,omitempty"`
	// Placed says that a fabric was given, on which losses are put beside this report.
	Placed bool `json:"-"`

	stats []*files.Stats
}

// Report tells what was found. Stats are those of the files, which say what the captures missed themselves.
func (a *Analyzer) Report(stats ...*files.Stats) *Report {
	t := &a.tcp.counts
	r := &Report{
		Files: []FileReport{}, Findings: []Finding{}, Packets: a.packets, Flows: a.Flows(), stats: stats,
		TCP: TCPCounts{
			Flows: a.flows.tcp, Retransmission: t.retransmission, Fast: t.fast, Spurious: t.spurious, Unneeded: t.unneeded, OutOfOrder: t.outOfOrder,
			LostSegment: t.lostSegment, LostBefore: t.lostBefore, LostAfter: t.lostAfter, Missed: t.missed, ZeroWindow: t.zeroWindow,
			Timeouts: t.timeouts, TimeoutsUnseen: t.unseen, DuplicateAck: t.duplicateAck,
		},
	}
	c := &a.roce.all
	r.RoCE = RoCECounts{
		Packets: a.roce.packets, QueuePairs: int(a.roce.pairs.n), Gaps: c.Gaps, GapPackets: c.GapPackets, NAKSequence: c.NAK,
		NAKOther: c.OtherNAK, RNR: c.RNR, CNP: c.CNP, Retransmitted: c.Retransmitted, GoBackN: c.GoBack, LostAfter: c.LostAfter,
		TimeoutStalls: c.Timeouts, ICRCBad: c.ICRCBad, ICRCChecked: c.ICRCChecked, CE: c.CE,
	}
	if rtt := a.tcp.roundTrips(); rtt.n > 0 {
		r.RTT = rtt.delay()
	}
	for _, s := range stats {
		r.Files = append(r.Files, fileReport(s))
	}
	for _, f := range a.finders {
		f.report(r)
	}
	r.sort()
	return r
}

// Last returns the time of the last packet of any file, nil without packets.
func (r *Report) Last() *time.Time {
	var last *time.Time
	for i := range r.Files {
		if to := r.Files[i].To; to != nil && (last == nil || to.After(*last)) {
			last = to
		}
	}
	return last
}

// AddTaps adds what the comparison of two taps found.
func (r *Report) AddTaps(t *TapReport, findings []Finding) {
	r.Taps = append(r.Taps, *t)
	r.Findings = append(r.Findings, findings...)
	r.sort()
}

// sort puts the worst first.
func (r *Report) sort() {
	r.date()
	rank := map[Severity]int{Critical: 0, Warning: 1, Info: 2}
	slices.SortStableFunc(r.Findings, func(x, y Finding) int {
		return cmp.Or(cmp.Compare(rank[x.Severity], rank[y.Severity]), cmp.Compare(y.weight(), x.weight()),
			strings.Compare(x.Finding, y.Finding), cmp.Compare(x.least, y.least), strings.Compare(x.Subject, y.Subject))
	})
	for i := range r.Findings {
		r.Findings[i].number = i + 1
	}
}

// Number is what pcap --finding names it by.
func (f *Finding) Number() int { return f.number }

// weight is what a finding is ranked by: the rest of a kind stands behind those that are told singly.
func (f *Finding) weight() int64 {
	if f.least > 0 {
		return f.least
	}
	return f.Count
}

func fileReport(s *files.Stats) FileReport {
	f := FileReport{
		File: graphs.Clean(s.Name), Packets: s.Packets, Bytes: s.Bytes, Captured: s.Captured, Truncated: s.Truncated, LinkTypes: []string{},
	}
	if s.Packets > 0 {
		f.From, f.To = instant(s.From), instant(s.To)
	}
	for _, l := range s.Links {
		f.LinkTypes = append(f.LinkTypes, l.String())
		if !l.Decoded() {
			f.NotDecoded = append(f.NotDecoded, l.String())
		}
	}
	if s.Known {
		f.Dropped = &s.Dropped
	}
	if s.Err != nil {
		f.Error = graphs.Clean(s.Err.Error())
	}
	return f
}

// instant is a time of a packet as reports have it.
func instant(ns int64) *time.Time {
	t := time.Unix(0, ns).UTC()
	return &t
}

// A candidate is something that may become a finding. Number and dir say what it is about in the words of its finder.
type candidate struct {
	count, from, to int64
	number          uint32
	dir             int
}

// A ranking keeps the worst of many candidates, so that a capture full of trouble does not fill memory with words.
type ranking struct {
	most   int
	kept   []candidate
	others int
	sum    int64
	from   int64
	to     int64
}

func (k *ranking) add(c candidate) {
	c.from, c.to = min(c.from, c.to), max(c.from, c.to) // the clock of a capture may be set back meanwhile
	k.kept = append(k.kept, c)
	if len(k.kept) >= 2*k.most+64 {
		k.cut()
	}
}

// cut drops all but the worst and sums up the rest.
func (k *ranking) cut() {
	slices.SortFunc(k.kept, func(x, y candidate) int {
		return cmp.Or(cmp.Compare(y.count, x.count), cmp.Compare(x.number, y.number), cmp.Compare(x.dir, y.dir))
	})
	for len(k.kept) > k.most {
		c := k.kept[len(k.kept)-1]
		if k.others == 0 {
			k.from, k.to = c.from, c.to
		}
		k.from, k.to = min(k.from, c.from), max(k.to, c.to)
		k.others++
		k.sum += c.count
		k.kept = k.kept[:len(k.kept)-1]
	}
}

// tell adds a finding for each that was kept, and one for all the others.
func (k *ranking) tell(r *Report, each func(candidate) Finding) {
	k.cut()
	var last Finding
	for _, c := range k.kept {
		f := each(c)
		f.Count, f.From, f.To = c.count, instant(c.from), instant(c.to)
		r.Findings = append(r.Findings, f)
		last = f
	}
	if k.others > 0 {
		r.Findings = append(r.Findings, Finding{
			Finding: last.Finding, Severity: last.Severity, Subject: plural(int64(k.others), "other"), Count: k.sum, From: instant(k.from),
			To: instant(k.to), Text: "more of the same, by subject less than those that are told singly", Rule: last.Rule, Filter: last.like,
			least: max(1, last.Count), others: k.others,
		})
	}
}
