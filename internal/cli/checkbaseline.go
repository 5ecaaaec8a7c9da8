package cli

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"whichlink/graphs"
	"whichlink/internal/baseline"
	"whichlink/internal/diagnose"
	"whichlink/internal/evidence"
)

// A checking is how a check answers, what it writes beside its answer, and what it holds round trips against.
type checking struct {
	output, out, evidence string
	baseline, load        string
	learn                 bool

	write    func(*evidence.Record) // to the evidence file; may be nil
	meter    *baseline.Meter        // nil without a baseline
	compared *baseline.Comparison   // nil where nothing was compared
	fabric   string                 // that is measured, as far as it came to that
	took     time.Duration
	failed   bool // nothing could be measured
}

func (c *checking) flags(cmd *cobra.Command) {
	outputFlag(cmd, &c.output, "text", "json", "nagios", "prometheus")
	f := cmd.Flags()
	f.StringVar(&c.out, "out", "", "with -o prometheus write the metrics to `FILE`, whole or not at all; else the same as --evidence")
	f.StringVar(&c.evidence, "evidence", "", "also write the evidence to `FILE`")
	f.StringVar(&c.baseline, "baseline", "", "hold round trips against those in `FILE`")
	f.BoolVar(&c.learn, "learn", false, "add this check's round trips to the file of --baseline, and compare nothing")
	f.StringVar(&c.load, "load", "", "a `WORD` for what the fabric carries meanwhile, such as idle: compare only with what was learned under the same")
}

func (c *checking) check() error {
	if c.output != "prometheus" && c.out != "" {
		if c.evidence != "" {
			return usagef("--out and --evidence name two files for the evidence")
		}
		c.evidence, c.out = c.out, ""
	}
	if c.baseline == "" && (c.learn || c.load != "") {
		return usagef("--learn and --load need --baseline FILE")
	}
	return nil
}

// recorder returns what takes the records of a fabric that is being measured.
func (c *checking) recorder(f *graphs.Fabric) func(*evidence.Record) {
	c.fabric = f.Name()
	if c.baseline != "" {
		c.meter = baseline.NewMeter(f, c.load)
	}
	if c.meter == nil {
		return c.write
	}
	return func(r *evidence.Record) {
		c.meter.Add(r)
		if c.write != nil {
			c.write(r)
		}
	}
}

// check measures by a function, writes what it records to a file if one is named, and learns or compares.
func (e *env) check(ctx context.Context, how *checking, measure func(context.Context) (*diagnose.Diagnosis, error)) (d *diagnose.Diagnosis, err error) {
	var known *baseline.Baseline
	if how.baseline != "" {
		// What cannot be read is better known before the measurement than behind it.
		if known, err = readBaseline(how.baseline, how.learn); err != nil {
			return nil, err
		}
	}
	if how.evidence == "" {
		d, err = measure(ctx)
	} else {
		w, closeOut, oerr := e.evidenceOut(how.evidence, overwrite)
		if oerr != nil {
			return nil, oerr
		}
		how.write = w.record
		d, err = measure(ctx)
		if cerr := closeOut(); cerr != nil { // the verdict does not hang on it
			e.say("%v", cerr)
		}
	}
	if err != nil || how.meter == nil {
		return d, err
	}
	return e.holdAgainst(d, known, how)
}

// readBaseline reads the file of --baseline; where it is to be learned there need be none yet, and nil is returned.
func readBaseline(name string, learn bool) (*baseline.Baseline, error) {
	file, err := os.Open(name)
	if learn && errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, withHint(openError("baseline", err), "whichlink check --learn --baseline %s makes it", graphs.Clean(name))
	}
	defer file.Close()
	return baseline.Read(file, name)
}

// holdAgainst learns what was measured, or compares it.
func (e *env) holdAgainst(d *diagnose.Diagnosis, known *baseline.Baseline, how *checking) (*diagnose.Diagnosis, error) {
	if !how.learn {
		c, err := known.Compare(how.meter)
		if err != nil {
			return nil, err
		}
		how.compared = c
		return baseline.Join(d, c, how.meter.Steps()), nil
	}
	if d.Verdict != diagnose.Healthy {
		e.say("nothing was learned: the baseline is to be learned while all is well, and the verdict is %s", d.Verdict)
		return d, nil
	}
	keys, err := learn(how)
	if err != nil {
		return nil, err
	}
	e.say("learned %d pairs and path lengths into %s", keys, graphs.Clean(how.baseline))
	return d, nil
}

// learn adds what was measured to the file of the baseline as it is now: another check may have added to it since this one began. It returns to how many keys.
func learn(how *checking) (keys int, err error) {
	unlock, err := lockBeside(how.baseline)
	if err != nil {
		return 0, err
	}
	defer unlock()
	known, err := readBaseline(how.baseline, true)
	if err != nil {
		return 0, err
	}
	if known == nil {
		known = baseline.New(how.meter.Fabric())
	}
	if keys, err = known.Learn(how.meter); err != nil {
		return 0, err
	}
	var b bytes.Buffer
	if err := known.Write(&b); err != nil {
		return 0, err
	}
	return keys, writeWhole(how.baseline, b.Bytes())
}
