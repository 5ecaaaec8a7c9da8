package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"whichlink/graphs"
	"whichlink/graphs/generate"
	"whichlink/internal/diagnose"
	"whichlink/internal/evidence"
	"whichlink/internal/lab"
	"whichlink/probes/snmp"
	"whichlink/tui"
)

// drillRate is the most that all hosts of a drill send together, in packets a second: one machine plays the whole fabric.
const drillRate = 10_000

// drillHorizon is how long evidence counts in a drill, so that a fault that was healed is soon forgotten.
const drillHorizon = 20 * time.Second

// A drill is a practice fabric with a watch on it.
type drill struct {
	view
	lab   *lab.Lab
	watch *diagnose.Watch
	score *scoreboard
	rng   *rand.Rand
	also  func(*evidence.Record) // takes every record, too; may be nil
}

// drillFabric is the built-in drill's: small enough to come up in a blink, large enough to tell all arcs apart.
func drillFabric() (*graphs.Fabric, error) {
	return generate.LeafSpine(generate.LeafSpineConfig{Leaves: 4, Spines: 4, Hosts: 2})
}

// newDrill brings a fabric up in network namespaces. One that forgets, by a horizon, is watched on screens.
func (e *env) newDrill(ctx context.Context, f *graphs.Fabric, m *measuring, horizon time.Duration) (*drill, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	if err := lab.Enter(); err != nil {
		return nil, labError(err)
	}
	if m.withSNMP {
		managed, err := lab.WithManagement(f)
		if err != nil {
			return nil, err
		}
		f = managed
	}
	l, err := lab.New(ctx, lab.Config{Fabric: f, Seed: m.seed, SNMP: m.withSNMP, Logger: e.logger()})
	if err != nil {
		return nil, labError(err)
	}
	hosts := l.Fabric().Hosts()
	rate := min(m.rate, drillRate/float64(max(1, len(hosts))))
	d := &drill{
		view: view{fabric: l.Fabric(), tape: tui.NewTape(l.Fabric(), 0), live: true, status: "drill", rate: rate * float64(len(hosts))},
		lab:  l, score: newScoreboard(l.Fabric()), rng: rand.New(rand.NewPCG(m.seed, 0)),
	}
	cfg := diagnose.WatchConfig{
		Fabric: l.Fabric(), Rate: rate, SwitchRate: m.switchRate, Port: m.port, Seed: m.seed,
		Horizon: horizon, Pictures: horizon > 0, Follow: true, Record: d.record, Logger: e.logger(),
	}
	for _, h := range hosts {
		cfg.Hosts = append(cfg.Hosts, diagnose.WatchHost{
			Node: h, Reflect: true,
			Open: func(open func() error) error { return l.Do(h, open) },
		})
	}
	var polls *snmp.Watch
	if m.withSNMP {
		agents := snmp.WatchConfig{Credentials: snmp.Credentials{Community: lab.Community}, Limits: snmp.Limits{Open: l.DoManagement},
			Status: m.agents.status, Counters: m.agents.counters}
		for _, n := range l.Fabric().Switches() {
			agents.Agents = append(agents.Agents, agentOfSwitch(l.Fabric(), n))
		}
		var source diagnose.WatchSource
		source, polls = sourceOf(agents)
		cfg.Sources = append(cfg.Sources, source)
		if horizon > 0 {
			d.ports = diagnose.NewPortSeries(0)
			cfg.Series = d.ports
		}
	}
	if d.watch, err = diagnose.NewWatch(cfg); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	d.latest, d.picture = d.watch.Latest, d.watch.Picture
	d.asker = &asker{watch: d.watch, hosts: d.watch.Hosts(), rate: d.rate, polls: polls}
	return d, nil
}

// record puts a record on the tape, for the screens.
func (d *drill) record(r *evidence.Record) {
	d.view.record(r)
	if d.also != nil {
		d.also(r)
	}
}

// breakInWords sets a fault in the words of lab break, such as "loss leaf1:swp1>spine1:swp1 --rate 5%". Empty means one that the
// seed chooses, "none" none.
func (d *drill) breakInWords(words string) error {
	var fault lab.Fault
	var err error
	switch fields := strings.Fields(words); {
	case words == "none":
		return nil
	case len(fields) == 0:
		fault, err = lab.ParseFault(d.lab.Fabric(), "loss", []string{d.randomTarget(tui.TargetArc)}, lab.FaultOptions{Rate: "5%"})
	default:
		fault, err = parseFaultWords(d.lab.Fabric(), fields)
	}
	if err != nil {
		return usageError{err}
	}
	_, err = d.lab.Break(fault)
	return err
}

// randomTarget chooses something between switches to break.
func (d *drill) randomTarget(kind tui.TargetKind) string {
	f := d.lab.Fabric()
	var names []string
	switch kind {
	case tui.TargetArc, tui.TargetLink:
		for a := range graphs.ArcID(f.NumArcs()) {
			switch {
			case f.IsHostArc(a):
			case kind == tui.TargetArc:
				names = append(names, f.ArcName(a))
			case a&1 == 0:
				names = append(names, f.LinkName(a.Link()))
			}
		}
	case tui.TargetSwitch:
		for _, n := range f.Switches() {
			names = append(names, f.NodeName(n))
		}
	case tui.TargetHost:
		for _, n := range f.Hosts() {
			names = append(names, f.NodeName(n))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return names[d.rng.IntN(len(names))]
}

// checkDrill runs a drill for as long as the context lasts, and returns what it found.
func (e *env) checkDrill(ctx context.Context, m *measuring, fault string, duration time.Duration, recorder func(*graphs.Fabric) func(*evidence.Record)) (*diagnose.Diagnosis, error) {
	f, err := e.fabricOrDrill(m.fabric)
	if err != nil {
		return nil, err
	}
	d, err := e.newDrill(ctx, f, m, 0)
	if err != nil {
		return nil, err
	}
	defer d.lab.Close()
	d.also = recorder(d.lab.Fabric())
	if err := d.breakInWords(fault); err != nil {
		return nil, err
	}
	e.say("drill on %s: %s, for %s", d.lab.Fabric(), d.watch.Statement(), duration)
	if err := d.watch.Run(ctx); err != nil {
		return nil, err
	}
	if e.verbose {
		e.say(echoesPursued, d.watch.Pursued())
		for _, t := range d.lab.Truth() {
			e.say("the truth: %s", t.Text)
		}
	}
	return d.watch.Latest(), nil
}

func (e *env) fabricOrDrill(name string) (*graphs.Fabric, error) {
	if name == "" {
		return drillFabric()
	}
	return e.readFabric(name)
}

// Snapshot implements [tui.Source]: the view's, with what is broken on purpose.
func (d *drill) Snapshot() *tui.Snapshot {
	s := d.view.Snapshot()
	truth := d.lab.Truth()
	for _, t := range truth {
		s.Faults = append(s.Faults, tui.Fault{ID: fmt.Sprint(t.ID), Text: t.Text})
	}
	d.score.follow(truth, d.watch.Latest(), time.Now())
	s.Rounds = d.score.list()
	return s
}

// Answer implements [tui.Trainer].
func (d *drill) Answer(name string) (string, error) { return d.score.learner(name, time.Now()) }

// parseFaultWords reads a fault as it is written behind lab break NAME.
func parseFaultWords(f *graphs.Fabric, words []string) (lab.Fault, error) {
	var o lab.FaultOptions
	flags := pflag.NewFlagSet("fault", pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&o.Rate, "rate", "", "")
	flags.DurationVar(&o.Period, "period", 0, "")
	flags.DurationVar(&o.Down, "down", 0, "")
	flags.IntVar(&o.Flows, "flows", 0, "")
	flags.StringVar(&o.Of, "of", "", "")
	if err := flags.Parse(words); err != nil {
		return lab.Fault{}, err
	}
	if flags.NArg() == 0 {
		return lab.Fault{}, errors.New("a fault begins with its kind, such as loss")
	}
	return lab.ParseFault(f, flags.Arg(0), flags.Args()[1:], o)
}

// Kinds implements [tui.Trainer].
func (d *drill) Kinds() []tui.FaultKind {
	share := []tui.Option{{Name: "rate", Default: "1%"}}
	return []tui.FaultKind{
		{Name: "loss", Does: "drops a share of the packets of one direction", Targets: []tui.TargetKind{tui.TargetArc}, Options: share},
		{Name: "silent", Does: "black hole both ways, and routes stay", Targets: []tui.TargetKind{tui.TargetLink}},
		{Name: "flap", Does: "goes down for a while in every period", Targets: []tui.TargetKind{tui.TargetLink},
			Options: []tui.Option{{Name: "period", Default: "4s"}, {Name: "down", Default: "1s"}}},
		{Name: "down", Does: "goes down, and routing goes around it", Targets: []tui.TargetKind{tui.TargetLink}},
		{Name: "node", Does: "a switch drops a share of all that it carries", Targets: []tui.TargetKind{tui.TargetSwitch}, Options: share},
		{Name: "police", Does: "a switch answers few ICMP: a trap, not a fault", Targets: []tui.TargetKind{tui.TargetSwitch},
			Options: []tui.Option{{Name: "rate", Default: "20"}}},
		{Name: "corrupt", Does: "changes the payload of a share of the packets", Targets: []tui.TargetKind{tui.TargetArc}, Options: share},
	}
}

// Break implements [tui.Trainer].
func (d *drill) Break(_ context.Context, o tui.Order) error {
	words := []string{o.Kind}
	for i, t := range o.Targets {
		if t == tui.Random {
			t = d.randomTarget(d.targetKind(o.Kind, i))
		}
		words = append(words, t)
	}
	for name, value := range o.Options {
		words = append(words, "--"+name, value)
	}
	fault, err := parseFaultWords(d.lab.Fabric(), words)
	if err != nil {
		return err
	}
	_, err = d.lab.Break(fault)
	return err
}

func (d *drill) targetKind(kind string, i int) tui.TargetKind {
	for _, k := range d.Kinds() {
		if k.Name == kind && i < len(k.Targets) {
			return k.Targets[i]
		}
	}
	return tui.TargetArc
}

// Heal implements [tui.Trainer].
func (d *drill) Heal(_ context.Context, id string) error {
	n, err := strconv.Atoi(id)
	if err != nil {
		return fmt.Errorf("no fault has the number %q", id)
	}
	return d.lab.Heal(lab.FaultID(n))
}
