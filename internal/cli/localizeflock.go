package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"whichlink/graphs"
	"whichlink/internal/diagnose"
	"whichlink/internal/flock"
	"whichlink/pathfind"
	"whichlink/pathfind/flaps"
	"whichlink/pathfind/localize"
	"whichlink/pathfind/next"
)

// flockFlags are what localize takes for traces in the form of Flock.
type flockFlags struct {
	topology, evidence, ecmp string
	stats                    bool
}

func (x *flockFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&x.topology, "topology", "", "for --format flock: the topology `FILE`, u v or u->v a line")
	cmd.Flags().StringVar(&x.evidence, "evidence", string(flock.INT), "for --format flock: what may be looked at, `KIND`: "+strings.Join(flockKinds(), ", "))
	cmd.Flags().StringVar(&x.ecmp, "ecmp", "path", "for --format flock: flows are spread evenly over each `UNIT`: path, hop")
	cmd.Flags().BoolVar(&x.stats, "stats", false, "for --format flock: add seconds and bytes used to the JSON")
	_ = cmd.RegisterFlagCompletionFunc("evidence", cobra.FixedCompletions(flockKinds(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("ecmp", cobra.FixedCompletions([]string{"path", "hop"}, cobra.ShellCompDirectiveNoFileComp))
}

func flockKinds() []string {
	var kinds []string
	for _, k := range flock.Kinds {
		kinds = append(kinds, string(k))
	}
	return kinds
}

// From so many flows on, memory may grow by a lesser share, in percent, before garbage is looked for: solving keeps most of what it asks for.
const manyFlows, solvingGC = 1 << 19, 50

// localizeStats is what --stats adds.
type localizeStats struct {
	ParseSeconds float64 `json:"parse_seconds"`
	SolveSeconds float64 `json:"solve_seconds"`
	PeakBytes    uint64  `json:"peak_bytes"`
}

// localizeFlock diagnoses a trace in the form of Flock.
func (e *env) localizeFlock(x *flockFlags, traces []string, output string) error {
	switch {
	case x.topology == "":
		return withHint(usagef("a trace of Flock needs its topology"), "use --topology FILE")
	case len(traces) != 1:
		return usagef("%d traces given, expected one", len(traces))
	case !slices.Contains(flock.Kinds, flock.Evidence(x.evidence)):
		return usagef("evidence %q is not one of %s", graphs.Clean(x.evidence), strings.Join(flockKinds(), ", "))
	case x.ecmp != "path" && x.ecmp != "hop":
		return usagef("--ecmp %q is neither path nor hop", graphs.Clean(x.ecmp))
	case x.stats && output != "json":
		return usagef("--stats goes with -o json")
	}
	began := time.Now()
	var delays flock.Delays
	f, seen, err := e.readFlock(x, traces[0], delays.Add)
	cut := seen != nil && len(seen.Observations) > 0 && errors.Is(err, io.ErrUnexpectedEOF)
	if err != nil && !cut {
		return err
	}
	parsed := time.Now()
	if len(seen.Observations) > manyFlows {
		defer debug.SetGCPercent(debug.SetGCPercent(solvingGC))
	}
	spread := pathfind.PerPath
	if x.ecmp == "hop" {
		spread = pathfind.PerHop
	}
	solved := seen.Solve(f, spread)
	d := flockDiagnosis(f, seen, solved)
	if cut {
		d.Notes = append(d.Notes, fmt.Sprintf("%v: the flows before that are used", err))
	}
	addFlockDelays(d, f, seen, &delays, spread)
	concludeFlock(d, seen, solved)
	if !x.stats {
		return e.printDiagnosis(d, output)
	}
	done := time.Now()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	text, err := withStats(d, localizeStats{parsed.Sub(began).Seconds(), done.Sub(parsed).Seconds(), memory.Sys})
	if err != nil {
		return err
	}
	return printJSON(e.stdout, text)
}

func (e *env) readFlock(x *flockFlags, trace string, also ...func(*flock.Flow)) (*graphs.Fabric, *flock.Observed, error) {
	top, err := os.Open(x.topology)
	if err != nil {
		return nil, nil, openError("topology", err)
	}
	defer top.Close()
	f, err := flock.ReadTopology(top, x.topology)
	if err != nil {
		return nil, nil, err
	}
	seen := flock.Evidence(x.evidence)
	if trace == "-" {
		read, err := flock.Observe(e.stdin, "standard input", f, seen, also...)
		return f, read, err
	}
	in, err := os.Open(trace)
	if err != nil {
		return nil, nil, openError("trace", err)
	}
	defer in.Close()
	read, err := flock.Observe(in, trace, f, seen, also...)
	return f, read, err
}

// withStats writes a diagnosis with one more field.
func withStats(d *diagnose.Diagnosis, s localizeStats) (json.RawMessage, error) {
	text, err := d.MarshalJSON()
	if err != nil {
		return nil, err
	}
	more, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	text = bytes.TrimSuffix(bytes.TrimSpace(text), []byte("}"))
	return slices.Concat(text, []byte(`,"stats":`), more, []byte("}")), nil
}

// flockDiagnosis puts a result into the words of a diagnosis, with the names of the trace: nodes are numbers, an arc is u>v. It has no verdict yet.
func flockDiagnosis(f *graphs.Fabric, seen *flock.Observed, r *flaps.Result) *diagnose.Diagnosis {
	n := newFlockNames(f)
	d := &diagnose.Diagnosis{Fabric: f.Name(), Coverage: diagnose.Coverage{Arcs: f.NumArcs()}}
	var crossed []int
	for a, sent := range r.Exposure {
		if sent > 0 {
			d.Coverage.Measured++
			crossed = append(crossed, sent)
		} else {
			d.Coverage.Unmeasured = append(d.Coverage.Unmeasured, n.arc(graphs.ArcID(a)))
		}
	}
	d.Coverage.Detectable = diagnose.Detectable(crossed, r.Least)
	flows := len(seen.Observations)
	if seen.Unknown > 0 {
		d.Notes = append(d.Notes, fmt.Sprintf("the way of %d of %d flows is known as one of equal-cost paths only; what only such flows cross counts as unmeasured", seen.Unknown, flows))
	}
	if r.Ignored > 0 {
		d.Notes = append(d.Notes, plural(r.Ignored, "flow")+" left out: no path joins their ends, or too many do")
	}
	if r.Selected {
		d.Notes = append(d.Notes, "of flows only those are known that lost packets: several bad arcs of one switch look like the switch")
	}
	const perhaps = 0.05
	if r.Uneven >= perhaps {
		d.Notes = append(d.Notes, fmt.Sprintf("some hosts or racks seem to have more traffic than others (with %.2f), which makes more of their flows lose packets: how many flows each of them has would tell a busy one from a bad one", min(r.Uneven, surest)))
	}
	d.Notes = append(d.Notes, diagnose.TailNote(r.Result)...)
	if r.Congested > 0 {
		d.Notes = append(d.Notes, plural(r.Congested, "arc")+" lost packets for moments, by about as much as each other, as where queues overflow: none of them stands out")
	}
	const least = 0.05
	for i := range r.Suspects {
		if s := &r.Suspects[i]; s.Probability >= least {
			x := n.suspect(&s.Suspect, r.Selected)
			x.TellRhythm(&s.Rhythm, time.Time{}, "trace")
			x.Rank = len(d.Suspects) + 1
			d.Suspects = append(d.Suspects, x)
		}
	}
	return d
}

// concludeFlock gives the verdict that the suspects make together.
func concludeFlock(d *diagnose.Diagnosis, seen *flock.Observed, r *flaps.Result) {
	d.Verdict = diagnose.Inconclusive
	switch {
	case len(seen.Observations) == 0:
		d.Summary = "the trace has no flow that this evidence may look at"
		d.Notes = append(d.Notes, "a trace with flows is needed, or --evidence that looks at more of them")
	case len(d.Suspects) > 0 && d.Suspects[0].Probability >= diagnose.Named:
		d.Verdict, d.Summary = diagnose.Suspects, d.Suspects[0].Sentence()
	case seen.Sent < diagnose.LeastProbes:
		d.Summary = diagnose.TooFew(seen.Sent, seen.Lost, "packets")
		d.Notes = append(d.Notes, "a trace of more packets is needed")
	case len(d.Suspects) > 0 && d.Suspects[0].Probability >= diagnose.Doubted:
		d.Summary = "perhaps " + d.Suspects[0].Sentence()
		d.Notes = append(d.Notes, "whether the first suspect is faulty is not yet told apart from chance")
	case seen.Unknown == 0 && 2*d.Coverage.Measured < d.Coverage.Arcs:
		d.Summary = fmt.Sprintf("nothing found, but only %d of %d arcs were measured", d.Coverage.Measured, d.Coverage.Arcs)
		d.Notes = append(d.Notes, "a trace of flows over more arcs is needed: an arc that no flow crosses is unknown, not healthy")
	case r.Tail > 0:
		d.Summary = diagnose.NothingStandsOut
	case diagnose.Unexplained(seen.Sent, seen.Lost, r.Background):
		d.Summary = fmt.Sprintf("%d of %d packets lost, and no single suspect explains them", seen.Lost, seen.Sent)
		d.Notes = append(d.Notes, "a trace of more packets is needed: what is lost is not yet told apart")
	case diagnose.Everywhere(seen.Lost, r.Background):
		d.Summary = diagnose.NothingStandsOut
		d.Notes = append(d.Notes, diagnose.EverywhereNote(r.Result))
	default:
		d.Verdict = diagnose.Healthy
		d.Summary = fmt.Sprintf("nothing found: %d of %d packets lost, a background of %s per link", seen.Lost, seen.Sent, diagnose.Percent(r.Background))
		if d.Coverage.Detectable > 0 {
			d.Notes = append(d.Notes, d.Coverage.Unseen(r.Least))
		}
	}
}

// flockNames names the parts of a fabric as traces do.
type flockNames struct {
	f       *graphs.Fabric
	planner func() *next.Planner // made when first asked for: mostly nothing is left open
}

func newFlockNames(f *graphs.Fabric) flockNames {
	return flockNames{f, sync.OnceValue(func() *next.Planner { return next.NewPlanner(pathfind.NewECMP(f)) })}
}

func (n flockNames) arc(a graphs.ArcID) string {
	return n.f.NodeName(n.f.Tail(a)) + ">" + n.f.NodeName(n.f.Head(a))
}

func (n flockNames) link(l graphs.LinkID) string {
	return n.f.NodeName(n.f.Tail(l.Forward())) + "--" + n.f.NodeName(n.f.Head(l.Forward()))
}

func (n flockNames) cause(c localize.Cause) string {
	switch c.Kind {
	case localize.Arc:
		return n.arc(graphs.ArcID(c.ID))
	case localize.Link:
		return n.link(graphs.LinkID(c.ID))
	}
	return n.f.NodeName(graphs.NodeID(c.ID)) // these traces know no groups
}

// surest is the most that is ever claimed, as for other evidence.
const surest = 0.99

// suspect puts a suspect into words; selected tells that only flows are known that lost packets.
func (n flockNames) suspect(s *localize.Suspect, selected bool) diagnose.Suspect {
	x := diagnose.Suspect{
		Kind: string(s.Kind), ID: n.cause(s.Cause), Symptom: diagnose.Loss, Probability: min(s.Probability, surest),
		Loss: &s.Loss, LossLow: &s.Low, LossHigh: &s.High,
	}
	for _, c := range s.Class {
		x.Class = append(x.Class, n.cause(c))
	}
	switch s.Kind {
	case localize.Arc:
		x.Link = n.link(graphs.ArcID(s.ID).Link())
	case localize.Link:
		x.Link = x.ID
	}
	x.For = "flows that may cross it lose packets; none is known to"
	switch flows := s.LossyFlows + s.CleanFlows; {
	case s.LossyFlows == 0 && flows > 0:
		x.For = "flows that may cross it lose packets; none that is known to does"
	case flows > 0:
		x.For = fmt.Sprintf("%d of %d flows known to cross it lose packets (%d of %d packets)", s.LossyFlows, flows, s.Lost, s.Sent)
	}
	x.Against = "no flow is known to cross it clean"
	switch {
	case selected:
		x.Against = "nothing is known of flows that lost no packets"
	case s.CleanFlows > 0:
		form := "%d flows cross it clean (%.1f losses were to be expected of their %d packets)"
		if s.CleanFlows == 1 {
			form = "%d flow crosses it clean (%.1f losses were to be expected of its %d packets)"
		}
		x.Against = fmt.Sprintf(form, s.CleanFlows, s.Against.Expected, s.Against.CleanSent)
	}
	if up := s.Against.RunnerUp; up.Kind != "" {
		x.Against += diagnose.Instead(string(up.Kind), n.cause(up), s.Against.Nats)
	}
	x.Evidence = []diagnose.Evidence{{Source: "trace", Text: x.For}}
	if len(s.Parts) > 0 {
		var parts []string
		for _, p := range s.Parts {
			parts = append(parts, fmt.Sprintf("%s %s", n.cause(p.Cause), diagnose.Percent(p.Loss)))
		}
		x.Evidence = append(x.Evidence, diagnose.Evidence{Source: "trace", Text: x.BadInPart(parts)})
	}
	x.Next = []diagnose.Step{}
	if len(s.Class) > 1 {
		x.Next = append(x.Next, n.split(s))
	}
	return x
}
