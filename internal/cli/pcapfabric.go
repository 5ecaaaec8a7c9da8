package cli

import (
	"bytes"
	"fmt"
	"strings"

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

// A fabricPlace is the fabric that captures are of, and the node or port where they were taken, if that is known: all of them at one,
// or with --taps each at one.
type fabricPlace struct {
	fabric *graphs.Fabric
	at     []string
}

// of returns where a file was taken, "" if that is not known. What stands for all files of a comparison is said of the first.
func (p *fabricPlace) of(file int) string {
	if file < len(p.at) {
		return p.at[file]
	}
	return ""
}

// passage says which flows must pass both of two taps that follow each other, nil where the fabric or the places are not known.
func (p *fabricPlace) passage(first int) captures.Passage {
	from, to := p.of(first), p.of(first+1)
	if p.fabric == nil || from == "" || to == "" {
		return nil
	}
	store := diagnose.NewStore(p.fabric, diagnose.Config{})
	return func(flow evidence.Flow, tap int) bool {
		if tap == 1 {
			return store.Passes(&flow, to, from)
		}
		return store.Passes(&flow, from, to)
	}
}

// readPlace reads --fabric and checks --at by it.
func (e *env) readPlace(fabric string, at []string) (*fabricPlace, error) {
	f, err := e.optionalFabric(fabric)
	if err != nil || f == nil {
		p := &fabricPlace{}
		for _, name := range at {
			p.at = append(p.at, graphs.Clean(name))
		}
		return p, err
	}
	for _, name := range at {
		_, node := f.NodeByName(name)
		_, port := f.PortByName(name)
		if name != "" && !node && !port {
			return nil, usagef("--at %q is neither a node nor a port of the fabric", graphs.Clean(name))
		}
	}
	return &fabricPlace{f, at}, nil
}

// evidence hands over what captures tell as records, each with the place where it was seen. What was lost between two taps is told by
// the two together, and so it is taken out of what the first tells alone, which is said to tell of what lies beyond both; so is what may have been lost there, while the
// other's capture took nothing.
func (p *fabricPlace) evidence(a *captures.Analyzer, r *captures.Report, names []string, each func(*evidence.Record) error) error {
	type way struct {
		flow  evidence.Flow
		first bool // it passes the first tap first
	}
	between, last := map[way]int{}, map[evidence.Flow]string{} // last is where the last tap was that a flow passed as well
	for i := range r.Taps {
		first, second := names[i], names[i+1]
		err := r.Taps[i].Evidence(first+","+second, [2]string{p.of(i), p.of(i + 1)}, func(f *captures.TapFlow, rec *evidence.Record) error {
			if n := *rec.LostBetween; n > 0 {
				between[way{f.Flow, f.First == "a"}] += n
			}
			if i == 0 || last[f.Flow] != "" {
				last[f.Flow] = p.of(i + 1)
			}
			return each(rec)
		})
		if err != nil {
			return err
		}
		for j := range r.Taps[i].Flows {
			if f := &r.Taps[i].Flows[j]; f.Dropped > 0 {
				between[way{f.Flow, f.First == "a"}] += int(f.Dropped)
			}
		}
	}
	return a.Evidence(r, strings.Join(names, ","), func(rec *evidence.Record) error {
		if rec.Kind == evidence.KindFlow {
			flow := *rec.Flow
			flow.DSCP = 0
			rec.At, rec.To = p.of(0), last[flow]
			between[way{flow, true}] -= less(&rec.LostAfter, between[way{flow, true}])
			between[way{flow, false}] -= less(&rec.LostBefore, between[way{flow, false}])
		}
		return each(rec)
	})
}

// less takes n away from a count, down to 0, and returns how many that were.
func less(count **int, n int) int {
	if *count == nil {
		return 0
	}
	n = min(n, **count)
	*count = evidence.Int(**count - n)
	return n
}

// diagnose says which arcs explain what the captures lost. A capture in which every flow has one host as an end, and several others
// at the other end, is taken for that host's own.
func (p *fabricPlace) diagnose(a *captures.Analyzer, r *captures.Report, names []string) (*diagnose.Diagnosis, error) {
	store := diagnose.NewStore(p.fabric, diagnose.Config{})
	if p.of(0) == "" {
		at := ""
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
			store.Add(&evidence.Record{Time: *last, Source: evidence.SourcePcap, By: strings.Join(names, ","), Kind: evidence.KindNote, Text: text})
		}
		p = &fabricPlace{p.fabric, []string{at}}
	}
	err := p.evidence(a, r, names, func(rec *evidence.Record) error {
		if rec.Kind == evidence.KindFlow {
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
	return writeWhole(name, page.Bytes())
}
