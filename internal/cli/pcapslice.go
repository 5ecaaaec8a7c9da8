package cli

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"slices"

	"whichlink/captures"
	"whichlink/captures/files"
	"whichlink/graphs"
)

// A slicing says which packets to write where.
type slicing struct {
	file    string // "" for none
	finding int    // its number in the report, from 1; 0 without
	flow    string
	choice  captures.Choice // of the flow
}

// check says whether the flags make sense together.
func (s *slicing) check(names []string, taps bool) error {
	switch {
	case s.file == "" && (s.finding != 0 || s.flow != ""):
		return usagef("--finding and --flow say what --write writes: it needs a file")
	case s.file == "":
		return nil
	case taps:
		return usagef("--write takes packets out of captures that are read together, and --taps compares them")
	case slices.Contains(names, "-"):
		return usagef("--write reads the captures twice: standard input cannot be one")
	case (s.finding != 0) == (s.flow != ""):
		return usagef("--write needs --finding N, a number of the report, or --flow FLOW")
	case s.finding < 0:
		return usagef("--finding %d is not a number of the report", s.finding)
	}
	for _, name := range names {
		a, err := os.Stat(name)
		b, err2 := os.Stat(s.file)
		if err == nil && err2 == nil && os.SameFile(a, b) {
			return usagef("--write %s would overwrite a capture that it reads", graphs.Clean(s.file))
		}
	}
	if s.flow == "" {
		return nil
	}
	var err error
	if s.choice, err = captures.ParseFlow(s.flow); err != nil {
		return usagef("--flow %v", err)
	}
	return nil
}

// writeSlice reads captures again and writes what was chosen, whole or not at all.
func (e *env) writeSlice(ctx context.Context, r *captures.Report, names []string, s *slicing) error {
	choice, what := s.choice, "flow "+s.flow
	if n := s.finding; n > 0 {
		if n > len(r.Findings) {
			return usagef("--finding %d: the report has %d", n, len(r.Findings))
		}
		choice, what = r.Findings[n-1].Choice(), fmt.Sprintf("finding %d, %s of %s", n, r.Findings[n-1].Finding, r.Findings[n-1].Subject)
	}
	opened, _ := e.openCaptures(names)
	defer opened.close()
	var from []string
	for _, c := range opened.readable() {
		from = append(from, graphs.Clean(c.name))
	}
	out, finish, err := createWhole(s.file, 0o600)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriterSize(out, 1<<20)
	slice := captures.NewSlice(buffered, choice, from)
	err = e.eachPacket(ctx, opened.merged(), e.newProgress(opened.size(), opened), func(packets []files.Packet) error {
		for i := range packets {
			if err := slice.Add(&packets[i]); err != nil {
				return err
			}
		}
		return nil
	})
	for _, next := range []func() error{slice.Close, buffered.Flush} {
		if nerr := next(); err == nil {
			err = nerr
		}
	}
	if err == nil && slice.Packets == 0 {
		err = fmt.Errorf("no packets of %s", graphs.Clean(what))
	}
	if ferr := finish(err == nil); err == nil {
		err = ferr
	}
	if err != nil {
		return fmt.Errorf("write slice %s: %w", graphs.Clean(s.file), graphs.Reason(err))
	}
	e.say("%s: %s of %s", graphs.Clean(s.file), plural(int(slice.Packets), "packet"), graphs.Clean(what))
	return nil
}
