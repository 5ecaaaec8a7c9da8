package tui

import (
	"time"

	"whichlink/graphs"
	"whichlink/internal/diagnose"
)

// A Snapshot is all that the screens know at one moment. It is immutable: whoever made it never touches it again, nor
// anything that it points to. To freeze the display is to keep an old one.
type Snapshot struct {
	Diagnosis *diagnose.Diagnosis // nil until there is one
	Fabric    *graphs.Fabric      // nil if none is known
	// Picture is what was counted of every link and what happened, nil if that is not known. Its fabric is Fabric.
	Picture *diagnose.Picture
	// Now is when the snapshot was made. Ages are counted from it; screens have no clock of their own.
	Now time.Time
	// Zone is that of the times on screens; nil is UTC. What is copied, exported and told in lines is always in UTC.
	Zone *time.Location
	// Live tells measuring from the replay of records.
	Live bool
	// Recording is for how long the evidence has been recorded, 0 if it is not.
	Recording time.Duration
	// Unrecorded says in a word or two why recording stopped, such as "no space"; "" if it did not.
	Unrecorded string
	// Playing is where a replay stands, nil if this is none that can be moved in.
	Playing *Playing
	// Status says in a word or two where the evidence comes from, such as "drill".
	Status string
	// Rate is probes sent, a second. It is shown only if Live.
	Rate float64
	// Inquiry is what somebody asked for and is under way; nil if there is none.
	Inquiry *Progress
	// History holds what was measured across links; nil if nothing was kept.
	History History
	// Ports holds what ports counted in time; nil if nothing was kept.
	Ports *diagnose.PortSeries
	// Findings are what captures prove; nil if they prove nothing, or none was read. Captures is how many were read for these screens.
	Findings *Findings
	Captures int
	// Faults are what is broken on purpose, if this is a drill. They are hidden until asked for.
	Faults []Fault
	// Rounds are the faults of this drill so far and who named them, the oldest first.
	Rounds []Round

	pins []pin // how what is pinned is
	mask *mask // what hides the names in it, nil if nothing does
}

// A Source makes snapshots. It is asked four times a second, by one goroutine, and must answer at once with its newest.
type Source interface {
	Snapshot() *Snapshot
}

// A Fault is something broken on purpose in a drill.
type Fault struct {
	ID   string
	Text string
}

// A History answers what was measured across a link, nil if nothing. Like the snapshot that holds it, it never changes;
// unlike it, it may do its work when asked, in a few milliseconds. A [Tape] makes them.
type History interface {
	Link(graphs.LinkID) *LinkDetail
	// Pair returns the flows that were measured from one node to another.
	Pair(src, dst graphs.NodeID) []PairFlow
}

// A LinkDetail is what the flows that cross a link measured, in bins of equal length.
type LinkDetail struct {
	Link  graphs.LinkID
	Start time.Time // of the first bin
	Bin   time.Duration
	Flows []FlowSeries
}

// A FlowSeries is what one flow measured in the direction in which it, or its answers, crosses a link.
// All its slices have one element a bin.
type FlowSeries struct {
	Flow string // addresses, ports, protocol
	Arc  graphs.ArcID
	// Answers is true where the flow's answers cross the arc, not the flow itself.
	Answers bool
	// Maybe is true where the path is only known as one of several, and not all of them cross the arc.
	Maybe bool
	// Whole is true where the way out and the way back could not be told apart in some bin: Lost then counts both.
	Whole bool
	// Sent and Lost count probes. A bin with Sent 0 has no sample.
	Sent, Lost []int
	// RTT is the median round-trip time in microseconds, NaN where there is no sample.
	RTT []float64
}
