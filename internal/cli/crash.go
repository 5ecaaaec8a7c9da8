package cli

import (
	"errors"
	"fmt"
	"time"

	"whichlink/internal/session"
	"whichlink/tui"
)

// crashed keeps what is known of a crash in a file, and says in one line where. Any other error stays as it is.
func (e *env) crashed(err error) error {
	var c *tui.Crash
	if !errors.As(err, &c) {
		return err
	}
	path := ""
	dir, failed := session.Dir()
	if failed == nil {
		path, failed = session.WriteCrash(dir, session.CrashReport{At: time.Now(), Version: version(), Value: c.Value, Stack: c.Stack})
	}
	if failed != nil {
		fmt.Fprintf(e.stderr, "%s\n", c.Stack) // else nobody would ever know
		return fmt.Errorf("%w; %w", c, failed)
	}
	return fmt.Errorf("%w; where it was stands in %s", c, path)
}
