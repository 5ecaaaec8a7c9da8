package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"whichlink/graphs"
	"whichlink/internal/diagnose"
	"whichlink/internal/evidence"
)

// State is the answer of a monitoring plugin (monitoring-plugins.org, development guidelines).
type state int

const (
	stateOK       state = 0
	stateWarning  state = 1
	stateCritical state = 2
	stateUnknown  state = 3
)

func (s state) String() string { return [...]string{"OK", "WARNING", "CRITICAL", "UNKNOWN"}[s] }

// leastCounters is how close a short check reads counters: agents show figures that are seconds old.
const leastCounters = 3 * time.Second

// sure is the probability from which a suspect is critical and not only a warning.
const sure = 0.9

// stateOf turns a diagnosis into the answer of a plugin.
func stateOf(d *diagnose.Diagnosis) state {
	switch d.Verdict {
	case diagnose.Healthy:
		return stateOK
	case diagnose.Suspects:
		if d.Suspects[0].Probability >= sure {
			return stateCritical
		}
		return stateWarning
	default:
		if d.Losing || len(d.Suspects) > 0 && d.Suspects[0].Probability >= diagnose.Doubted {
			return stateWarning
		}
		return stateUnknown
	}
}

func newCheckCmd(e *env) *cobra.Command {
	var m measuring
	var how checking
	var duration time.Duration
	var onDrill bool
	var fault string
	cmd := &cobra.Command{
		Use:   "check (--fabric FILE | --drill)",
		Short: "One health check for scripts: measures, prints one line, exits 0, 1, 2 or 3",
		Long: `Check measures for a while and answers as monitoring plugins do: 0 OK, 1 WARNING (a suspect is likely, if not certain, or
packets are lost and none explains them), 2 CRITICAL (a suspect is as good as certain), 3 UNKNOWN (it could not measure, or not enough). With --fabric it probes from this host, and OK is said of
what its probes cross, which the line counts: run it on every host. With --drill it makes a practice fabric in network namespaces, with a fault,
and checks that. With --snmp what the switches count, and with --traps what they tell, is judged together with the probes.

With --baseline it also holds round trips against what they were, by pair of hosts and length of the path, and looks for steps of the round trip that
come back by a timer: --learn adds what this check measures to the file, and compares nothing. --load names what the fabric carries meanwhile: like is
compared with like.

With -o nagios performance data follow a bar; -o prometheus writes metrics for the textfile collector of node_exporter (docs/metrics.md).`,
		RunE: func(cmd *cobra.Command, rest []string) error {
			err := how.check()
			switch {
			case len(rest) > 0:
				err = usagef("check takes no arguments")
			case err == nil && m.withSNMP && (onDrill || m.fabric == ""):
				err = usagef("--snmp needs --fabric, and no drill")
			case err == nil:
				err = lasting(duration)
			}
			if err != nil {
				return e.cannotCheck(err, &how)
			}
			if !cmd.Flags().Changed("snmp-counters") {
				m.agents.counters = max(leastCounters, min(m.agents.counters, duration/4))
			}
			start := time.Now()
			d, err := e.check(cmd.Context(), &how, func(ctx context.Context) (*diagnose.Diagnosis, error) {
				ctx, cancel := context.WithTimeout(ctx, duration)
				defer cancel()
				if onDrill {
					return e.checkDrill(ctx, &m, fault, duration, how.recorder)
				}
				return e.checkHere(ctx, &m, how.recorder)
			})
			how.took = time.Since(start)
			if err == nil && cmd.Context().Err() != nil && d.Verdict == diagnose.Healthy {
				err = fmt.Errorf("stopped before it had measured for %v", duration)
			}
			if err != nil {
				return e.cannotCheck(err, &how)
			}
			return e.printCheck(d, &how)
		},
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		form := pflag.NewFlagSet("", pflag.ContinueOnError) // in which an answer is asked for may stand behind what is wrong
		form.ParseErrorsAllowlist.UnknownFlags, form.Usage = true, func() {}
		form.AddFlag(cmd.Flags().Lookup("output"))
		form.AddFlag(cmd.Flags().Lookup("out"))
		_ = form.Parse(e.arguments) // that something is wrong is known
		return e.cannotCheck(flagError(err), &how)
	})
	m.flags(cmd)
	m.snmpFlags(cmd)
	how.flags(cmd)
	cmd.Flags().DurationVar(&duration, "for", 10*time.Second, "how long to measure")
	cmd.Flags().BoolVar(&onDrill, "drill", false, "check a practice fabric: --fabric, or the built-in one")
	cmd.Flags().StringVar(&fault, "fault", "", "the drill's fault in the words of lab break, or none (default: one chosen by --seed)")
	return cmd
}

// cannotCheck answers where nothing was measured, also because check was called wrongly: to a monitoring system exit code 2 means CRITICAL, and it shows
// only what stands on standard output.
func (e *env) cannotCheck(err error, how *checking) error {
	how.failed = true
	d := &diagnose.Diagnosis{Fabric: how.fabric, Verdict: diagnose.Inconclusive, Summary: graphs.Printable(strings.ReplaceAll(err.Error(), "\n", "; ")), Notes: []string{"could not measure"}}
	if perr := e.printCheck(d, how); perr != nil {
		err = errors.Join(err, unlessExit(perr))
	}
	return exitError{int(stateUnknown), err}
}

func (e *env) checkHere(ctx context.Context, m *measuring, recorder func(*graphs.Fabric) func(*evidence.Record)) (*diagnose.Diagnosis, error) {
	f, err := e.readFabric(m.fabric)
	if err != nil {
		return nil, err
	}
	w, err := m.watch(e, f, diagnose.WatchConfig{Partial: true, Record: recorder(f), Every: diagnose.FollowEvery, Follow: true})
	if err != nil {
		return nil, err
	}
	if e.verbose {
		e.say("%s", w.Statement())
	}
	if err := w.Run(ctx); err != nil {
		return nil, err
	}
	return w.Latest(), nil
}

// printCheck answers in the form that is asked for. An answer that cannot be written is UNKNOWN.
func (e *env) printCheck(d *diagnose.Diagnosis, how *checking) error {
	s := stateOf(d)
	var err error
	switch how.output {
	case "json":
		err = printJSON(e.stdout, d)
	case "prometheus":
		err = e.printMetrics(d, how)
	default:
		line := fmt.Sprintf("WHICHLINK %s - %s", s, d.Summary)
		if s == stateUnknown && !how.failed && len(d.Notes) > 0 {
			line += "; " + d.Notes[0] // what is missing
		}
		if how.output == "nagios" {
			// A bar parts the text from the performance data, so the text may hold none.
			line = strings.ReplaceAll(line, "|", "/")
			if !how.failed { // what was not measured is absent, and not zero
				line += " | " + performance(d, how)
			}
		}
		_, err = fmt.Fprintln(e.stdout, line)
	}
	switch {
	case err != nil:
		return exitError{int(stateUnknown), err}
	case s != stateOK:
		return exitError{code: int(s)}
	}
	return nil
}

// unlessExit returns an error that is more than an exit code.
func unlessExit(err error) error {
	var exit exitError
	if errors.As(err, &exit) && exit.err == nil {
		return nil
	}
	return err
}

// worst returns how many suspects are named, how many of them are pairs of hosts, and the most that one of them loses.
func worst(d *diagnose.Diagnosis) (named, pairs int, loss float64) {
	for i := range d.Suspects {
		if x := &d.Suspects[i]; x.Probability >= diagnose.Named {
			named++
			if x.Kind == "pair" {
				pairs++
			}
			if x.Loss != nil {
				loss = max(loss, *x.Loss)
			}
		}
	}
	return named, pairs, loss
}

// performance writes performance data: 'label'=value[unit];warn;crit;min;max.
func performance(d *diagnose.Diagnosis, how *checking) string {
	named, pairs, loss := worst(d)
	s := fmt.Sprintf("suspects=%d;0;;0; worst_loss=%.4f%%;;;0;100 arcs_measured=%d;;;0;%d", named, 100*loss, d.Coverage.Measured, d.Coverage.Arcs)
	if how.compared != nil {
		s += fmt.Sprintf(" slow_pairs=%d;0;;0;%d", pairs, how.compared.Compared)
	}
	return s
}
