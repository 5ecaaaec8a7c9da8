package tui

import (
	"context"
	"time"
)

// A Prober measures what somebody at the screen asks for, beside what is measured anyway. Its methods are called outside the drawing goroutine. What it
// finds shows in the snapshots that follow.
type Prober interface {
	// Propose says what an inquiry would send, before anything is sent; an error says why it cannot be made. It may read files, and takes no
	// longer than a blink.
	Propose(q Inquiry) (Proposal, error)
}

// The kinds of inquiries.
const (
	Harder = "probe" // more packets across a link, an arc, a switch or a group
	Trace  = "trace" // the paths from one host to another
	Poll   = "poll"  // a switch's ports
)

// An Inquiry is what somebody wants to know. Names are those of the fabric.
type Inquiry struct {
	Kind string
	// Of is what Harder is about, or the switch to Poll; Src and Dst are the ends to Trace. An empty Src leaves it to the prober.
	Of, Src, Dst string
}

// A Proposal is an inquiry in words, to be agreed to.
type Proposal struct {
	Inquiry Inquiry // with all names that it was understood to have
	Title   string  // "Trace h1-1 > h3-2"
	Target  string  // what is sent to or along
	Rate    string  // how much of it
	For     time.Duration
	Answer  string // where the answer shows
	// Run does it, until ctx ends, and says what came of it in one line.
	Run func(ctx context.Context) (string, error)
}

// A Progress is an inquiry that is under way.
type Progress struct {
	Says         string // "tracing h1-1 > h3-2"
	Begun, Until time.Time
	// Packets that were decided, and Lost of them; 0 where these are not counted.
	Packets, Lost int
}
