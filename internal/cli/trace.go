package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"whichlink/graphs"
	"whichlink/internal/evidence"
	"whichlink/probes"
)

// A traceHop is one hop in trace's JSON; contract.
type traceHop struct {
	TTL      int             `json:"ttl"`
	Address  string          `json:"address,omitempty"`
	Others   []string        `json:"others,omitempty"` // further addresses that answered
	Node     string          `json:"node,omitempty"`
	Port     string          `json:"port,omitempty"` // by which the packet came in, if the address is that of a port
	Sent     int             `json:"sent"`
	Answered int             `json:"answered"`
	Class    probes.Class    `json:"class,omitempty"`
	RTT      *evidence.Delay `json:"rtt_us,omitempty"`
}

// A traceFlow is one flow in trace's JSON.
type traceFlow struct {
	Flow    evidence.Flow `json:"flow"`
	Reached bool          `json:"reached"`
	Method  string        `json:"method,omitempty"`
	Hops    []traceHop    `json:"hops"`
	// Back are the hops of the way back from the destination's side, absent where they are not known.
	Back []traceHop  `json:"back,omitempty"`
	Echo *flowCounts `json:"echo,omitempty"`
}

// A traceResult is trace's JSON.
type traceResult struct {
	Src   netip.Addr  `json:"src"`
	Dst   netip.Addr  `json:"dst"`
	Flows []traceFlow `json:"flows"`
	Paths int         `json:"paths"`
	Sent  int         `json:"sent"`
	Notes []string    `json:"notes"`
}

// tracing is the flags of trace.
type tracing struct {
	flowing
	maxTTL     int
	tries      int
	repeat     int
	count      int
	switchRate float64
	noBack     bool
}

func newTraceCmd(e *env) *cobra.Command {
	var t tracing
	cmd := &cobra.Command{
		Use:   "trace DST",
		Short: "Every path to a destination: hops, loss and delay by flow",
		Long: `Trace finds the paths that flows to a destination take, one for each source port, all hops at once. Where the destination runs
whichlink agent it finds the way back, too, and sends echoes that tell loss by direction; else it makes do with ICMP port
unreachable or TCP SYNs, and says so. DST is an address, a node of --fabric or a host name. Hops that leave probes unanswered
limit or refuse their answers: unanswered is not lost. No privilege is needed.`,
		Args:              args(1, 1),
		ValidArgsFunction: fabricNames(nodes, 1),
		RunE: func(cmd *cobra.Command, a []string) error {
			if err := t.check(); err != nil {
				return err
			}
			if t.maxTTL < 1 || t.maxTTL > probes.MaxTTL || t.tries < 1 || t.repeat < 1 || t.count < 0 || t.switchRate <= 0 {
				return usagef("--max-ttl is 1 to %d, --tries and --repeat at least 1, --count at least 0, --switch-rate above 0", probes.MaxTTL)
			}
			f, err := e.optionalFabric(t.fabric)
			if err != nil {
				return err
			}
			r, err := t.run(cmd.Context(), e, f, a[0])
			if err != nil {
				return err
			}
			if t.output == "json" {
				return printJSON(e.stdout, r)
			}
			return r.print(e.stdout)
		},
	}
	t.flags(cmd)
	fl := cmd.Flags()
	fl.IntVar(&t.maxTTL, "max-ttl", 30, "where to stop if the destination does not answer")
	fl.IntVar(&t.tries, "tries", 3, "how often a hop that does not answer is asked")
	fl.IntVar(&t.repeat, "repeat", 1, "probes a hop and flow; more show packets of one flow that are spread")
	fl.IntVar(&t.count, "count", 20, "echoes a flow, end to end")
	fl.Float64Var(&t.switchRate, "switch-rate", probes.DefaultSwitchRate, "most TTL-expired probes a second asked of any one switch")
	fl.BoolVar(&t.noBack, "no-back", false, "leave out the way back")
	return cmd
}

func (t *tracing) run(ctx context.Context, e *env, f *graphs.Fabric, name string) (*traceResult, error) {
	src, dst, err := t.pair(ctx, f, name)
	if err != nil {
		return nil, err
	}
	engine, err := probes.NewEngine(probes.Config{NoChecksum: true, Logger: e.logger()})
	if err != nil {
		return nil, err
	}
	defer engine.Close()
	r := &traceResult{Src: src, Dst: dst, Notes: []string{}}
	e.say("%s from %s to %s: at most %.0f packets/s, and of any switch at most %.0f TTL-expired answers/s", plural(t.flows, "flow"), src, dst, t.rate, t.switchRate)
	pacer := newPacer(t.rate, t.switchRate, time.Now())
	if !t.tcp {
		err = t.udp(ctx, engine, pacer, f, r)
	}
	if err == nil && (t.tcp || !slices.ContainsFunc(r.Flows, func(x traceFlow) bool { return x.Reached })) {
		if !t.tcp {
			r.Notes = append(r.Notes, fmt.Sprintf("%s answers nothing on UDP port %d, so TCP SYNs were tried", dst, t.port))
		}
		err = t.syn(ctx, engine, pacer, f, r)
	}
	r.Paths = paths(r.Flows)
	r.Sent = int(engine.Stats().Sent)
	return r, err
}

// udp traces with UDP and sends echoes.
func (t *tracing) udp(ctx context.Context, engine *probes.Engine, pacer *pacer, f *graphs.Fabric, r *traceResult) error {
	streams, err := t.open(engine, r.Src, r.Dst, probes.Options{})
	if err != nil {
		return err
	}
	traces, err := engine.Trace(ctx, streams, probes.TraceOptions{
		MaxTTL: t.maxTTL, Tries: t.tries, Repeat: t.repeat, NoBack: t.noBack,
		Allow: func(s *probes.Stream, ttl int, back bool) time.Duration {
			return pacer.allow(time.Now(), ttl, back, s.Lengths())
		},
	})
	if err != nil {
		return err
	}
	counts := make([]*flowCounts, len(streams))
	if slices.ContainsFunc(traces, func(x probes.Trace) bool { return x.Method == probes.MethodSTAMP }) && t.count > 0 {
		counts = echo(ctx, streams, pacer, t.count, 0)
		if ctx.Err() != nil {
			return fmt.Errorf("trace: %w", context.Cause(ctx))
		}
	} else if slices.ContainsFunc(traces, func(x probes.Trace) bool { return x.Reached }) {
		r.Notes = append(r.Notes, fmt.Sprintf("no reflector (whichlink agent) at UDP port %d: the destination answers port unreachable, which hosts limit, so loss was not measured", t.port))
	}
	r.add(f, traces, counts)
	return nil
}

// syn traces with TCP SYNs, one flow after the other.
func (t *tracing) syn(ctx context.Context, engine *probes.Engine, pacer *pacer, f *graphs.Fabric, r *traceResult) error {
	var traces []probes.Trace
	for i := range t.flows {
		x, err := engine.TraceSYN(ctx, t.flow(r.Src, r.Dst, "tcp", t.sport+uint16(i)), probes.SYNOptions{
			MaxTTL: t.maxTTL, Tries: t.tries,
			Allow: func(ttl int) time.Duration { return pacer.allow(time.Now(), ttl, false, probes.Lengths{}) },
		})
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			return err
		}
		traces = append(traces, x)
		if i == 0 && !x.Reached && !t.tcp {
			r.Notes = append(r.Notes, "nor does it answer TCP SYNs")
			return nil // what UDP saw is as good
		}
	}
	r.Flows = nil
	r.add(f, traces, make([]*flowCounts, len(traces)))
	return nil
}

// add puts traces into the result, with classes, each flow against the others.
func (r *traceResult) add(f *graphs.Fabric, traces []probes.Trace, counts []*flowCounts) {
	sights := make([]probes.Sight, len(traces))
	for i, x := range traces {
		sights[i] = probes.Sight{Hops: x.Hops}
		if x.Reached && counts[i] == nil {
			sights[i].Sent = 1 // one answer of the destination shows that packets pass
		}
		if c := counts[i]; c != nil {
			sights[i].Sent, sights[i].Lost = c.Sent, c.Lost
			if c.LostForward != nil {
				sights[i].Split, sights[i].LostForward, sights[i].LostBack = true, *c.LostForward, *c.LostBack
			}
		}
	}
	for i, x := range traces {
		flow := traceFlow{Flow: x.Flow, Reached: x.Reached, Method: x.Method, Hops: traceHops(f, x.Hops), Echo: counts[i]}
		if x.BackKnown {
			flow.Back = traceHops(f, x.Back)
		}
		r.Flows = append(r.Flows, flow)
	}
	r.classify(sights)
}

// classify says what the hops of each flow mean. Where one flow tells too little, all that take its path are taken together.
func (r *traceResult) classify(sights []probes.Sight) {
	pools, routes := map[string]*probes.Sight{}, []string{}
	along := r.routes()
	for i := range r.Flows {
		k := along[i]
		if pools[k] == nil {
			pools[k] = &probes.Sight{Split: true}
			routes = append(routes, k)
		}
		pool(pools[k], &sights[i])
	}
	joint := map[string][]probes.Class{}
	for _, k := range routes {
		var control []probes.Sight
		for _, other := range routes {
			if other != k {
				control = append(control, *pools[other])
			}
		}
		joint[k] = probes.Classify(*pools[k], control)
	}
	for i := range r.Flows {
		x := &r.Flows[i]
		control := slices.Delete(slices.Clone(sights), i, i+1)
		for j, class := range probes.Classify(sights[i], control) {
			// A hop that answers other flows of the same path is not silent.
			if class == probes.ClassUnresolved || class == probes.ClassSilent && pools[along[i]].Hops[j].Answered > 0 {
				class = joint[along[i]][j]
			}
			x.Hops[j].Class = class
		}
	}
}

// pool adds what is known of one flow to what is known of others that take the same path.
func pool(to, s *probes.Sight) {
	if to.Hops == nil {
		to.Hops = slices.Clone(s.Hops)
	} else {
		for i := range to.Hops {
			to.Hops[i].Sent += s.Hops[i].Sent
			to.Hops[i].Answered += s.Hops[i].Answered
		}
	}
	to.Sent += s.Sent
	to.Lost += s.Lost
	to.LostForward += s.LostForward
	to.LostBack += s.LostBack
	to.Split = to.Split && s.Split
}

func traceHops(f *graphs.Fabric, hops []probes.Hop) []traceHop {
	all := make([]traceHop, 0, len(hops))
	for _, h := range hops {
		x := traceHop{TTL: h.TTL, Sent: h.Sent, Answered: h.Answered, RTT: h.RTT}
		if a := h.Address(); a.IsValid() {
			x.Address = a.String()
			if f != nil {
				if o, ok := f.Owner(a); ok {
					x.Node = f.NodeName(o.Node)
					if o.Port != graphs.None {
						x.Port = f.PortName(o.Port)
					}
				}
			}
		}
		for i := 1; i < len(h.Responders); i++ {
			x.Others = append(x.Others, h.Responders[i].Addr.String())
		}
		all = append(all, x)
	}
	return all
}

// route is the hops of a flow as one string, with which paths are told apart.
func (x *traceFlow) route() string {
	var b strings.Builder
	for _, h := range x.Hops {
		if h.Address == "" {
			b.WriteString("* ")
		} else {
			b.WriteString(h.Address + " ")
		}
	}
	return b.String()
}

// routes returns the route of each flow. A flow with gaps, which one path alone that others showed without any fills, took that.
func (r *traceResult) routes() []string {
	routes := make([]string, len(r.Flows))
	var whole []string
	for i := range r.Flows {
		k := r.Flows[i].route()
		routes[i] = k
		if r.Flows[i].Reached && !strings.Contains(k, "*") && !slices.Contains(whole, k) {
			whole = append(whole, k)
		}
	}
	for i, k := range routes {
		if !r.Flows[i].Reached || !strings.Contains(k, "*") {
			continue
		}
		fits := slices.DeleteFunc(slices.Clone(whole), func(w string) bool { return !fills(k, w) })
		if len(fits) == 1 {
			routes[i] = fits[0]
		}
	}
	return routes
}

// fills reports whether a route agrees with one that has gaps.
func fills(gaps, whole string) bool {
	return slices.EqualFunc(strings.Fields(gaps), strings.Fields(whole), func(g, w string) bool { return g == "*" || g == w })
}

// paths counts the different paths, of flows without a gap if there are any.
func paths(flows []traceFlow) int {
	whole, all := map[string]bool{}, map[string]bool{}
	for i := range flows {
		r := flows[i].route()
		if r == "" {
			continue // nobody was heard
		}
		all[r] = true
		if flows[i].Reached && !strings.Contains(r, "*") {
			whole[r] = true
		}
	}
	if len(whole) > 0 {
		return len(whole)
	}
	return len(all)
}

// print writes the result for people: by path, and then the flows that lost something.
func (r *traceResult) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintf(w, "%s to %s: %s, %s, %s sent\n", r.Src, r.Dst, plural(len(r.Flows), "flow"), plural(r.Paths, "path"), plural(r.Sent, "packet"))
	groups, order := map[string][]*traceFlow{}, []string{}
	for i, k := range r.routes() {
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], &r.Flows[i])
	}
	for i, k := range order {
		printPath(w, i+1, groups[k])
	}
	for _, n := range r.Notes {
		fmt.Fprintf(w, "note: %s\n", n)
	}
	fmt.Fprintln(w, "unanswered is not lost: switches limit what they answer themselves")
	return w.Flush()
}

func printPath(w io.Writer, n int, flows []*traceFlow) {
	var ports []string
	sent, lost := 0, 0
	for _, x := range flows {
		ports = append(ports, fmt.Sprint(x.Flow.SrcPort))
		if x.Echo != nil {
			sent, lost = sent+x.Echo.Sent, lost+x.Echo.Lost
		}
	}
	fmt.Fprintf(w, "\npath %d: %s %s", n, plural(len(flows), "flow"), strings.Join(ports, " "))
	if sent > 0 {
		fmt.Fprintf(w, "; %d of %d echoes lost", lost, sent)
	}
	if !flows[0].Reached {
		fmt.Fprint(w, "; the destination does not answer")
	}
	fmt.Fprintln(w, "\n  ttl\taddress\tnode\tanswered\tclass\trtt min/p50 us")
	shown := flows[0] // the one that knows most of its hops
	for _, x := range flows {
		if strings.Count(x.route(), "*") < strings.Count(shown.route(), "*") {
			shown = x
		}
	}
	for i, h := range shown.Hops {
		sent, answered, class := 0, 0, probes.Class("")
		for _, x := range flows {
			sent, answered = sent+x.Hops[i].Sent, answered+x.Hops[i].Answered
			if class == "" || class == probes.ClassOK {
				class = x.Hops[i].Class
			}
		}
		address, node := h.Address, h.Node
		if address == "" {
			address = "*"
		}
		if h.Port != "" {
			node = h.Port
		}
		fmt.Fprintf(w, "  %d\t%s\t%s\t%d/%d\t%s\t%s\n", h.TTL, address, node, answered, sent, class, rttOf(flows, i))
	}
	for _, x := range flows {
		if x.Echo != nil && x.Echo.Lost > 0 {
			fmt.Fprintf(w, "  flow %d: %s\n", x.Flow.SrcPort, x.Echo.words())
		}
	}
}

// rttOf is the least and the middle round trip of hop i over flows of one path.
func rttOf(flows []*traceFlow, i int) string {
	least, middle := math.Inf(1), []float64{}
	for _, x := range flows {
		if d := x.Hops[i].RTT; d != nil {
			least, middle = min(least, d.Min), append(middle, d.P50)
		}
	}
	if len(middle) == 0 {
		return ""
	}
	slices.Sort(middle)
	return fmt.Sprintf("%.0f/%.0f", least, middle[len(middle)/2])
}
