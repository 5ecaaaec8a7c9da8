package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"whichlink/captures"
	"whichlink/captures/files"
	"whichlink/graphs"
	"whichlink/internal/evidence"
	"whichlink/tui"
)

// mostPackets is how many packets of a finding the screens list: some ten megabytes of memory.
const mostPackets = 20_000

// A packetStore fetches packets behind findings. It implements [tui.PacketReader].
type packetStore struct {
	e      *env
	named  []string // files of the command line
	direct []string // those of them that are captures

	mu      sync.Mutex             // guards reports
	reports map[string]*readReport // by the name that records have for captures
}

// A readReport is the report on captures, with the files that it was made of.
type readReport struct {
	names  []string
	report *captures.Report
}

func newPacketStore(e *env, named []string) *packetStore {
	p := &packetStore{e: e, named: named, reports: map[string]*readReport{}}
	for _, name := range named {
		if name != "-" && isCapture(name) && !slices.Contains(p.direct, name) {
			p.direct = append(p.direct, name)
		}
	}
	return p
}

func (p *packetStore) keep(by string, names []string, r *captures.Report) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reports[by] = &readReport{names, r}
}

// find returns the captures that a record names: as it stands, or beside the evidence. Several are written with commas between them.
func (p *packetStore) find(by string) ([]string, error) {
	p.mu.Lock()
	known := p.reports[by]
	p.mu.Unlock()
	if known != nil {
		return known.names, nil
	}
	at := func(name string) string {
		places := []string{name}
		for _, f := range p.named {
			places = append(places, filepath.Join(filepath.Dir(f), filepath.Base(name)))
		}
		for _, x := range places {
			if info, err := os.Stat(x); err == nil && info.Mode().IsRegular() {
				return x
			}
		}
		return ""
	}
	if one := at(by); one != "" {
		return []string{one}, nil
	}
	var names []string
	for name := range strings.SplitSeq(by, ",") {
		x := at(name)
		if x == "" {
			return nil, fmt.Errorf("the capture %s is neither here nor beside the evidence", graphs.Clean(name))
		}
		names = append(names, x)
	}
	return names, nil
}

// choice finds out which packets belong to a finding, by finding it again.
func (p *packetStore) choice(ctx context.Context, names []string, x *evidence.Record) (captures.Choice, error) {
	p.mu.Lock()
	known := p.reports[x.By]
	p.mu.Unlock()
	if known == nil {
		quiet := *p.e
		quiet.quiet = true // the screens own the terminal
		_, r, err := quiet.report(ctx, names)
		if err != nil {
			return captures.Choice{}, err
		}
		known = &readReport{names, r}
		p.keep(x.By, names, r)
	}
	for i := range known.report.Findings {
		f := &known.report.Findings[i]
		if f.Finding == x.Finding && f.Subject == x.Subject && (f.To == nil || f.To.Equal(x.Time)) {
			return f.Choice(), nil
		}
	}
	return captures.Choice{}, fmt.Errorf("the captures do not say %s of %s any more", graphs.Clean(x.Finding), graphs.Clean(x.Subject))
}

// Packets implements [tui.PacketReader].
func (p *packetStore) Packets(ctx context.Context, x *evidence.Record) (*tui.Packets, error) {
	names, err := p.find(x.By)
	if err != nil {
		return nil, err
	}
	choice, err := p.choice(ctx, names, x)
	if err != nil {
		return nil, err
	}
	opened, failed := p.e.openCaptures(names)
	defer opened.close()
	readable := opened.readable()
	if len(readable) == 0 {
		return nil, failed
	}
	list := captures.NewList(choice, mostPackets)
	err = p.e.eachPacket(ctx, opened.merged(), &progress{}, func(packets []files.Packet) error {
		for i := range packets {
			list.Add(&packets[i])
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	out := &tui.Packets{Total: list.Total}
	for _, l := range list.Lines {
		out.Lines = append(out.Lines, tui.Packet{Number: l.Number, File: filepath.Base(readable[l.File].name), Time: l.Time, Src: l.Src, Dst: l.Dst, Proto: l.Proto, Len: l.Len, Info: l.Info})
	}
	return out, nil
}

// Viewer implements [tui.PacketReader].
func (p *packetStore) Viewer(x *evidence.Record) (*tui.Viewer, error) {
	names, err := p.find(x.By)
	if err != nil {
		return nil, err
	}
	if _, err := exec.LookPath("tshark"); err != nil {
		return nil, fmt.Errorf("tshark is not installed; y copies what to type where it is")
	}
	name, err := filepath.Abs(names[0]) // no name may look like a flag
	if err != nil {
		return nil, err
	}
	words := []string{"tshark", "-n", "-r", name}
	if x.Filter != "" {
		words = append(words, "-Y", x.Filter)
	}
	pager, _ := exec.LookPath("less")
	return &tui.Viewer{Words: words, Show: &pipeline{words: words, pager: pager}}, nil
}

// command makes a command out of its words.
func command(words []string) *exec.Cmd { return exec.Command(words[0], words[1:]...) }
