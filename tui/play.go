package tui

import "time"

// A Player moves through recorded evidence. Its methods return at once; the snapshots that follow show what came of it.
type Player interface {
	// Seek goes to a moment; Whole shows all of the evidence, as it is shown when a file is opened.
	Seek(to time.Time)
	Whole()
	// Play lets time run or stand. Speed is how many recorded seconds a second shows.
	Play(on bool)
	Speed(x float64)
}

// A Playing is where in recorded evidence a snapshot stands.
type Playing struct {
	From, To time.Time // of the evidence
	At       time.Time
	Whole    bool // all of it is shown, whatever At is
	Running  bool
	Speed    float64
	Busy     bool // what is shown is still that of the moment before
}

const (
	leastSpeed = 0.25
	mostSpeed  = 64
	seekStep   = 10 * time.Second
)
