package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"sync"
	"sync/atomic"
	"syscall"
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
	if e.cannotDrill(err) {
		return e.replayRecorded(cmd.Context())
	}
	return err
}

// cannotDrill reports whether it is this system that keeps the drill from running, and says why.
func (e *env) cannotDrill(err error) bool {
	var lack *lab.UnavailableError
	if !errors.As(err, &lack) && !errors.Is(err, lab.ErrUnsupported) {
		return false
	}
	e.say("the drill cannot run here: %v", err)
	if lack != nil && lack.Remedy != "" {
		e.say("to run it: %s", lack.Remedy)
	}
	e.say("replaying a recorded drill instead")
	return true
}

// terminal reports whether there is one to draw on.
func (e *env) terminal() bool {
	in, ok1 := e.stdin.(*os.File)
	out, ok2 := e.stdout.(*os.File)
	return ok1 && ok2 && term.IsTerminal(in.Fd()) && term.IsTerminal(out.Fd()) && os.Getenv("TERM") != "dumb"
}

// A scene is what the screens show, and what has to be done for it.
type scene struct {
	source  tui.Source
	trainer tui.Trainer
	packets tui.PacketReader
	// run runs as long as the screens are open, and finish is called when it has ended; each may be nil.
	run    func(context.Context) error
	finish func()
}

// config is what the screens need of a scene.
func (s *scene) config() tui.Config {
	cfg := tui.Config{Source: s.source, Trainer: s.trainer, Captures: s.packets, Save: saveNew}
	if p, ok := s.source.(tui.Player); ok {
		cfg.Player = p
	}
	if p, ok := s.source.(interface{ prober() tui.Prober }); ok {
		cfg.Prober = p.prober()
	}
	if p, ok := s.source.(interface{ remark(string) error }); ok {
		cfg.Remark = p.remark
	}
	return cfg
}

// saveNew writes a file that was not there, and leaves none behind that is not whole.
func saveNew(_ context.Context, name string, data []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already and stays as it is", graphs.Clean(name))
	}
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(name)
		return fmt.Errorf("export: %w", err)
	}
	return nil
}

// screens runs the terminal UI until somebody quits. Its first frame does not wait for what is shown: open makes that meanwhile, and loading says what is being
// done. What open says is told when the terminal is free again.
func (e *env) screens(ctx context.Context, loading func() string, open func(context.Context, *env) (*scene, error)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var said bytes.Buffer
	quiet := *e
	if !e.plain {
		quiet.stderr = &said
	}
	var shown *scene
	var running sync.WaitGroup
	var failed error
	load := func(ctx context.Context) (tui.Config, error) {
		s, err := open(ctx, &quiet)
		if err != nil {
			return tui.Config{}, err
		}
		shown = s
		if s.run != nil {
			running.Go(func() {
				if failed = tui.Guard(func() error { return s.run(ctx) }); failed != nil {
					cancel()
				}
			})
		}
		return s.config(), nil
	}
	cfg := tui.Config{Load: load, Loading: loading, NoColor: !e.colour(), ASCII: e.ascii, Mask: e.mask, Settings: e.settings, Settled: e.settled, Unsettled: e.unsettled, Theme: e.theme, Output: e.stdout}
	if memory, err := newKept(); err == nil {
		cfg.Memory = memory
	}
	show := tui.Run
	if e.plain {
		show = tui.RunPlain
	}
	release := e.watchTerminal()
	err := tui.Guard(func() error { return show(ctx, cfg) })
	cancel()
	running.Wait()
	release()
	if shown != nil && shown.finish != nil {
		shown.finish()
	}
	_, _ = said.WriteTo(e.stderr)
	return e.crashed(errors.Join(failed, err))
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
	loading := func() string {
		return "bringing up " + cmp.Or(m.fabric, "the drill") + " in network namespaces: real packets, nothing outside is touched"
	}
	return e.screens(ctx, loading, func(ctx context.Context, e *env) (*scene, error) {
		f, err := e.fabricOrDrill(m.fabric)
		if err != nil {
			return nil, err
		}
		d, err := e.newDrill(ctx, f, m, drillHorizon)
		if err != nil {
			return nil, err
		}
		if err := d.breakInWords(fault); err != nil {
			return nil, errors.Join(err, d.lab.Close())
		}
		e.say("%s", d.watch.Statement())
		kept := e.keep(&d.view)
		source := withPast(ctx, d, &d.view, d.watch)
		return &scene{source: source, trainer: d, run: d.watch.Run, finish: func() { source.Whole(); kept(); d.lab.Close() }}, nil
	})
}

// A view shows what a watch or a replay found, with the records behind it.
type view struct {
	fabric *graphs.Fabric
	file   string // that of the fabric, if there is one
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

	take     func(*evidence.Record) // hands a record to what measures
	asker    *asker                 // nil if nothing can be sent
	recorder *session.Recorder      // nil if nothing is recorded
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
			e.say("%v; whichlink %s shows it up to there", err, name)
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

// remark puts a note among the evidence, and so into the recording.
func (v *view) remark(text string) error {
	v.take(&evidence.Record{Time: time.Now(), Source: evidence.SourceNote, By: author(), Kind: evidence.KindNote, Text: graphs.Clean(text)})
	return nil
}

// author names whoever writes notes: the user of this session.
func author() string {
	if u, err := user.Current(); err == nil {
		return graphs.Clean(u.Username)
	}
	return "somebody"
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
		s.Unrecorded = whyUnrecorded(v.recorder.Err())
	default:
		s.Recording = s.Now.Sub(v.begun)
	}
	return s
}

// whyUnrecorded says in few words what ended a recording.
func whyUnrecorded(err error) string {
	if errors.Is(err, syscall.ENOSPC) {
		return "no space"
	}
	return graphs.Clean(graphs.Reason(err).Error())
}

// openHere probes from this host and shows what it sees.
func (e *env) openHere(ctx context.Context, m *measuring) error {
	if !e.show() {
		return withHint(errors.New("no terminal to open the screens on"), "whichlink check --fabric %s measures once and prints one line", m.fabric)
	}
	return e.screens(ctx, func() string { return "reading " + m.fabric + " and planning what to send" }, func(ctx context.Context, e *env) (*scene, error) {
		f, err := e.readFabric(m.fabric)
		if err != nil {
			return nil, err
		}
		v := &view{fabric: f, file: m.fabric, tape: tui.NewTape(f, 0), live: true, status: "from this host", rate: m.rate, ports: diagnose.NewPortSeries(0)}
		w, err := m.watch(e, f, diagnose.WatchConfig{Record: v.record, Horizon: liveHorizon, Series: v.ports, Pictures: true, Follow: true})
		if err != nil {
			return nil, err
		}
		v.latest, v.picture = w.Latest, w.Picture
		v.asker = &asker{watch: w, hosts: w.Hosts(), rate: m.rate, polls: m.polls, agent: func(n graphs.NodeID) (snmp.WatchConfig, error) {
			c, err := snmp.LoadCredentials(m.agents.credentials)
			return snmp.WatchConfig{Agents: []snmp.WatchedAgent{agentOfSwitch(f, n)}, Credentials: c}, err
		}}
		e.say("%s", w.Statement())
		kept := e.keep(v)
		source := withPast(ctx, v, v, w)
		return &scene{source: source, run: w.Run, finish: func() { source.Whole(); kept() }}, nil
	})
}

// recordedDrill is where the recorded drill lies among the program's own files.
const recordedDrill = "testdata/drill"

// replayRecorded shows the drill that was recorded into the program.
func (e *env) replayRecorded(ctx context.Context) error {
	return e.replay(ctx, "the recorded drill", func(_ context.Context, e *env) (*replaying, error) {
		plan, err := e.recorded.Open(recordedDrill + "/fabric.clab.yml")
		if err != nil {
			return nil, fmt.Errorf("open the recorded drill: %w", err)
		}
		defer plan.Close()
		fabric, err := formats.Read(plan, "fabric.clab.yml")
		if err != nil {
			return nil, err
		}
		read := func(ctx context.Context, s *diagnose.Store, also func(*evidence.Record)) error {
			const name = recordedDrill + "/evidence.jsonl"
			records, err := e.recorded.Open(name)
			if err != nil {
				return fmt.Errorf("open the recorded drill: %w", err)
			}
			defer records.Close()
			return e.readRecords(s, name, within{ctx, records}, also)
		}
		return &replaying{rerun: &rerun{view: view{fabric: fabric.Fabric, status: "replay"}}, read: read}, nil
	})
}
