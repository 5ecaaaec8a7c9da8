package cli

import (
	"bytes"
	"fmt"
	"os"

	"whichlink/captures"
	"whichlink/graphs"
	"whichlink/internal/diagnose"
	"whichlink/internal/evidence"
)

// A diagnosed report is one with what it means for a fabric.
type diagnosed struct {
	*captures.Report
	Diagnosis *diagnose.Diagnosis `json:"diagnosis,omitempty"`
}

// A fabricPlace is the fabric that captures are of, and the node or port where they were taken, if that is known.
type fabricPlace struct {
	fabric *graphs.Fabric
	at     string
}

// readPlace reads --fabric and checks --at by it.
func (e *env) readPlace(fabric, at string) (*fabricPlace, error) {
	p := &fabricPlace{at: at}
	if fabric == "" {
		return p, nil
	}
	f, err := e.readFabric(fabric)
	if err != nil {
		return nil, err
	}
	p.fabric = f
	if _, node := f.NodeByName(at); at != "" && !node {
		if _, port := f.PortByName(at); !port {
			return nil, usagef("--at %q is neither a node nor a port of the fabric", graphs.Clean(at))
		}
	}
	return p, nil
}

// diagnose says which arcs explain what the captures lost. A capture in which every flow has one host as an end, and several others
// at the other end, is taken for that host's own.
func (p *fabricPlace) diagnose(a *captures.Analyzer, r *captures.Report, by string) (*diagnose.Diagnosis, error) {
	store := diagnose.NewStore(p.fabric, diagnose.Config{})
	at := p.at
	if at == "" {
		if len(r.Files) == 1 || r.Taps != nil { // else each file has a place of its own
			var err error
			if at, err = p.commonHost(a); err != nil {
				return nil, err
			}
		}
		text := "where the capture was taken is not known, so that losses before and behind it are of the whole path: --at NODE or PORT says it"
		if at != "" {
			text = fmt.Sprintf("taken for %s's own capture, since that is an end of every flow: --at NODE or PORT says otherwise", at)
		}
		if last := r.Last(); last != nil {
			store.Add(&evidence.Record{Time: *last, Source: evidence.SourcePcap, By: by, Kind: evidence.KindNote, Text: text})
		}
	}
	err := a.Evidence(r, by, func(rec *evidence.Record) error {
		if rec.Kind == evidence.KindFlow {
			rec.At = at
			store.Add(rec)
		}
		return nil
	})
	return store.Diagnose(), err
}

// commonHost returns the one host that is an end of all flows between hosts of the fabric, or "".
func (p *fabricPlace) commonHost(a *captures.Analyzer) (string, error) {
	ends := map[graphs.NodeID]int{}
	total := 0
	err := a.EachFlow(func(f *captures.FlowReport) error {
		src, ok := p.fabric.Owner(f.Flow.Src)
		dst, also := p.fabric.Owner(f.Flow.Dst)
		if ok && also && src.Node != dst.Node {
			total++
			ends[src.Node]++
			ends[dst.Node]++
		}
		return nil
	})
	common, found := graphs.NodeID(graphs.None), 0
	for n, count := range ends {
		if count == total {
			common = n
			found++
		}
	}
	if err != nil || found != 1 {
		return "", err
	}
	return p.fabric.NodeName(common), nil
}

// writePage writes a report as a page of HTML.
func (e *env) writePage(a *captures.Analyzer, d *diagnosed, name string) error {
	suspects := ""
	if d.Diagnosis != nil {
		suspects = d.Diagnosis.Text()
	}
	var page bytes.Buffer
	if err := captures.WritePage(&page, d.Report, a.Series(), suspects); err != nil {
		return fmt.Errorf("write page %s: %w", graphs.Clean(name), err)
	}
	return os.WriteFile(name, page.Bytes(), 0o644)
}
