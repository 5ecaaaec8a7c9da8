package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

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
		if len(d.Suspects) > 0 {
			return stateWarning
		}
		return stateUnknown
	}
}

func newCheckCmd(e *env) *cobra.Command {
	var m measuring
	var output string
	var duration time.Duration
	var onDrill bool
	var fault, out string
	cmd := &cobra.Command{
		Use:   "check (--fabric FILE | --drill)",
		Short: "One health check for scripts: measures, prints one line, exits 0, 1, 2 or 3",
		Long: `Check measures for a while and answers as monitoring plugins do: 0 OK, 1 WARNING (a suspect is more likely than not),
2 CRITICAL (a suspect is as good as certain), 3 UNKNOWN (it could not measure). With --fabric it probes from this host;
with --drill it makes a practice fabric in network namespaces, with a fault, and checks that.`,
		RunE: func(cmd *cobra.Command, rest []string) error {
			if len(rest) > 0 {
				return exitError{int(stateUnknown), usagef("check takes no arguments")}
			}
			if err := oneOf(output, "text", "json", "nagios"); err != nil {
				return exitError{int(stateUnknown), err}
			}
			d, err := e.check(cmd.Context(), out, func(ctx context.Context, record func(*evidence.Record)) (*diagnose.Diagnosis, error) {
				ctx, cancel := context.WithTimeout(ctx, duration)
				defer cancel()
				if onDrill {
					return e.checkDrill(ctx, &m, fault, duration, record)
				}
				return e.checkHere(ctx, &m, record)
			})
			if err == nil && cmd.Context().Err() != nil && d.Verdict == diagnose.Healthy {
				err = fmt.Errorf("stopped before it had measured for %v", duration)
			}
			if err != nil {
				d := &diagnose.Diagnosis{Verdict: diagnose.Inconclusive, Summary: err.Error(), Notes: []string{"could not measure"}}
				if perr := e.printCheck(d, output); perr != nil {
					err = errors.Join(err, unlessExit(perr))
				}
				return exitError{int(stateUnknown), err}
			}
			return e.printCheck(d, output)
		},
	}
	// To a monitoring system exit code 2 means CRITICAL: who calls it wrongly gets UNKNOWN.
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return exitError{int(stateUnknown), err} })
	m.flags(cmd)
	outputFlag(cmd, &output, "text", "json", "nagios")
	cmd.Flags().StringVar(&out, "out", "", "also write the evidence to `FILE`")
	cmd.Flags().DurationVar(&duration, "for", 10*time.Second, "how long to measure")
	cmd.Flags().BoolVar(&onDrill, "drill", false, "check a practice fabric: --fabric, or the built-in one")
	cmd.Flags().StringVar(&fault, "fault", "", "the drill's fault in the words of lab break, or none (default: one chosen by --seed)")
	return cmd
}

// check measures by a function, and writes what it records to a file if one is named.
func (e *env) check(ctx context.Context, out string, measure func(context.Context, func(*evidence.Record)) (*diagnose.Diagnosis, error)) (*diagnose.Diagnosis, error) {
	if out == "" {
		return measure(ctx, nil)
	}
	w, closeOut, err := e.evidenceOut(out)
	if err != nil {
		return nil, err
	}
	d, err := measure(ctx, w.record)
	if cerr := closeOut(); err == nil {
		err = cerr
	}
	return d, err
}

func (e *env) checkHere(ctx context.Context, m *measuring, record func(*evidence.Record)) (*diagnose.Diagnosis, error) {
	f, err := e.readFabric(m.fabric)
	if err != nil {
		return nil, err
	}
	w, err := m.watch(e, f, diagnose.WatchConfig{Record: record, Every: followEvery, Follow: true})
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

func (e *env) printCheck(d *diagnose.Diagnosis, output string) error {
	s := stateOf(d)
	switch output {
	case "json":
		if err := printJSON(e.stdout, d); err != nil {
			return err
		}
	default:
		line := fmt.Sprintf("WHICHLINK %s - %s", s, d.Summary)
		if output == "nagios" {
			// A bar parts the text from the performance data, so the text may hold none.
			line = strings.ReplaceAll(line, "|", "/") + " | " + performance(d)
		}
		fmt.Fprintln(e.stdout, line)
	}
	if s != stateOK {
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

// performance writes performance data: 'label'=value[unit];warn;crit;min;max.
func performance(d *diagnose.Diagnosis) string {
	named, worst := 0, 0.0
	for i := range d.Suspects {
		if x := &d.Suspects[i]; x.Probability >= diagnose.Named {
			named++
			if x.Loss != nil {
				worst = max(worst, *x.Loss)
			}
		}
	}
	return fmt.Sprintf("suspects=%d;0;;0; worst_loss=%.4f%%;;;0;100 arcs_measured=%d;;;0;%d", named, 100*worst, d.Coverage.Measured, d.Coverage.Arcs)
}
