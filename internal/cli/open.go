package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"whichlink/graphs"
	"whichlink/graphs/formats"
	"whichlink/internal/diagnose"
	"whichlink/internal/evidence"
	"whichlink/internal/lab"
	"whichlink/internal/session"
	"whichlink/probes/snmp"
	"whichlink/tui"
)

// onceFor is how long the drill measures where there is no terminal to watch it.
const onceFor = 8 * time.Second

// openMain is the command without a name: the terminal UI on what there is to see.
func (e *env) openMain(cmd *cobra.Command, m *measuring, files []string, onDrill bool, fault string) error {
	switch {
	case m.withSNMP && (len(files) > 0 || m.fabric == "" && !onDrill):
		return usagef("--snmp needs --fabric or --drill, and no files")
	case len(files) > 0:
		return e.openFiles(cmd.Context(), m.fabric, files)
	case m.fabric != "" && !onDrill:
		return e.openHere(cmd.Context(), m)
	}
	err := e.openDrill(cmd.Context(), m, fault)
	var lack *lab.UnavailableError
	if errors.As(err, &lack) || errors.Is(err, lab.ErrUnsupported) {
		e.say("the drill cannot run here: %v", err)
		if lack != nil && lack.Remedy != "" {
			e.say("to run it: %s", lack.Remedy)
		}
		e.say("replaying a recorded drill instead")
		return e.replayRecorded(cmd.Context())
	}
	return err
}

// terminal reports whether there is one to draw on.
func (e *env) terminal() bool {
	in, ok1 := e.stdin.(*os.File)
	out, ok2 := e.stdout.(*os.File)
	return ok1 && ok2 && term.IsTerminal(in.Fd()) && term.IsTerminal(out.Fd()) && os.Getenv("TERM") != "dumb"
}

// screens runs the terminal UI until somebody quits.
func (e *env) screens(ctx context.Context, s tui.Source, t tui.Trainer, packets tui.PacketReader) error {
	cfg := tui.Config{Source: s, Trainer: t, Captures: packets, NoColor: !e.colour(), ASCII: e.ascii, Theme: e.theme, Output: e.stdout}
	if p, ok := s.(tui.Player); ok {
		cfg.Player = p
	}
	if p, ok := s.(interface{ prober() tui.Prober }); ok {
		cfg.Prober = p.prober()
	}
	if e.plain {
		return tui.RunPlain(ctx, cfg)
	}
	return tui.Run(ctx, cfg)
}

// show reports whether there is somebody to show screens, or lines, to.
func (e *env) show() bool { return e.plain || e.terminal() }

// openDrill shows the drill, or runs it once and prints the diagnosis where there is no terminal.
func (e *env) openDrill(ctx context.Context, m *measuring, fault string) error {
	if err := lab.Enter(); err != nil {
		return err
	}
	if !e.show() {
		ctx, cancel := context.WithTimeout(ctx, onceFor)
		defer cancel()
		d, err := e.checkDrill(ctx, m, fault, onceFor, func(*graphs.Fabric) func(*evidence.Record) { return nil })
		if err != nil {
			return err
		}
		return e.printDiagnosis(d, "text")
	}
	f, err := e.fabricOrDrill(m.fabric)
	if err != nil {
		return err
	}
	e.say("bringing up %s in network namespaces", f)
	d, err := e.newDrill(ctx, f, m, drillHorizon, nil)
	if err != nil {
		return err
	}
	defer d.lab.Close()
	if err := d.breakInWords(fault); err != nil {
		return err
	}
	e.say("%s", d.watch.Statement())
	defer e.keep(&d.view)()
	return e.watchOnScreen(ctx, d.watch, d, d)
}

// watchOnScreen measures as long as the screens are open.
func (e *env) watchOnScreen(ctx context.Context, w *diagnose.Watch, s tui.Source, t tui.Trainer) error {
	ctx, cancel := context.WithCancel(ctx)
	var measuring sync.WaitGroup
	var failed error
	measuring.Go(func() {
		if failed = w.Run(ctx); failed != nil {
			cancel()
		}
	})
	err := e.screens(ctx, s, t, nil)
	cancel()
	measuring.Wait()
	return errors.Join(failed, err)
}

// A view shows what a watch or a replay found, with the records behind it.
type view struct {
	fabric *graphs.Fabric
	tape   *tui.Tape
	live   bool
	status string
	rate   float64
	ports  *diagnose.PortSeries
	latest func() *diagnose.Diagnosis
	// picture is what there is to draw with the diagnosis; it may be nil, and so may what it returns.
	picture func() *diagnose.Picture

	history  atomic.Pointer[tui.History]
	findings atomic.Pointer[tui.Findings]

	asker    *asker            // nil if nothing can be sent
	recorder *session.Recorder // nil if nothing is recorded
	begun    time.Time
}

// keep records the session, from now on. That it cannot is no reason not to measure.
func (e *env) keep(v *view) (finish func()) {
	dir, err := session.Dir()
	if err == nil {
		v.recorder, err = session.Record(session.RecorderConfig{Dir: dir, Fabric: v.fabric})
	}
	if err != nil {
		e.say("not recording: %v", err)
		return func() {}
	}
	v.begun = time.Now()
	return func() {
		name := v.recorder.Path()
		if err := v.recorder.Close(); err != nil {
			e.say("%v", err)
			return
		}
		e.say("recorded; whichlink %s shows it again", name)
	}
}

func (v *view) record(r *evidence.Record) {
	if v.recorder != nil {
		v.recorder.Add(r)
	}
	if v.asker != nil {
		v.asker.see(r)
	}
	v.tape.Add(r)
	h := v.tape.History()
	v.history.Store(&h)
	v.findings.Store(v.tape.Findings())
}

func (v *view) prober() tui.Prober {
	if v.asker == nil {
		return nil
	}
	return v.asker
}

// Snapshot implements [tui.Source].
func (v *view) Snapshot() *tui.Snapshot {
	s := &tui.Snapshot{Diagnosis: v.latest(), Fabric: v.fabric, Now: time.Now(), Live: v.live, Status: v.status, Rate: v.rate, Ports: v.ports}
	if v.picture != nil {
		if p := v.picture(); p != nil {
			s.Picture, s.Diagnosis = p, p.Diagnosis
		}
	}
	if h := v.history.Load(); h != nil {
		s.History = *h
	}
	if v.asker != nil {
		s.Inquiry = v.asker.progress()
	}
	s.Findings = v.findings.Load()
	switch {
	case v.recorder == nil:
	case v.recorder.Err() != nil:
		s.Status += ", NOT RECORDED"
	default:
		s.Recording = s.Now.Sub(v.begun)
	}
	return s
}

// openHere probes from this host and shows what it sees.
func (e *env) openHere(ctx context.Context, m *measuring) error {
	f, err := e.readFabric(m.fabric)
	if err != nil {
		return err
	}
	v := &view{fabric: f, tape: tui.NewTape(f, 0), live: true, status: "from this host", rate: m.rate, ports: diagnose.NewPortSeries(0)}
	w, err := m.watch(e, f, diagnose.WatchConfig{Record: v.record, Horizon: liveHorizon, Series: v.ports, Pictures: true, Follow: true})
	if err != nil {
		return err
	}
	v.latest, v.picture = w.Latest, w.Picture
	v.asker = &asker{watch: w, hosts: w.Hosts(), rate: m.rate, polls: m.polls, agent: func(n graphs.NodeID) (snmp.WatchConfig, error) {
		c, err := snmp.LoadCredentials(m.agents.credentials)
		return snmp.WatchConfig{Agents: []snmp.WatchedAgent{agentOfSwitch(f, n)}, Credentials: c}, err
	}}
	if !e.show() {
		return withHint(errors.New("no terminal to open the screens on"), "whichlink check --fabric %s measures once and prints one line", m.fabric)
	}
	e.say("%s", w.Statement())
	defer e.keep(v)()
	return e.watchOnScreen(ctx, w, v, nil)
}

// recordedDrill is where the recorded drill lies among the program's own files.
const recordedDrill = "testdata/drill"

// replayRecorded shows the drill that was recorded into the program.
func (e *env) replayRecorded(ctx context.Context) error {
	plan, err := e.recorded.Open(recordedDrill + "/fabric.clab.yml")
	if err != nil {
		return fmt.Errorf("open the recorded drill: %w", err)
	}
	defer plan.Close()
	fabric, err := formats.Read(plan, "fabric.clab.yml")
	if err != nil {
		return err
	}
	return e.replay(ctx, &rerun{view: view{fabric: fabric.Fabric, status: "replay"}}, nil, nil, func(s *diagnose.Store, also func(*evidence.Record)) error {
		const name = recordedDrill + "/evidence.jsonl"
		records, err := e.recorded.Open(name)
		if err != nil {
			return fmt.Errorf("open the recorded drill: %w", err)
		}
		defer records.Close()
		return readRecords(s, name, records, also)
	})
}
