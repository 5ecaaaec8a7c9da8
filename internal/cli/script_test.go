package cli

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"whichlink/internal/lab"
	"whichlink/internal/lab/labtest"
)

// TestMain makes the test binary stand in for the program in scripts.
func TestMain(m *testing.M) {
	testscript.Main(labtest.Alone(m), map[string]func(){
		"whichlink":           func() { os.Exit(program()) },
		"whichlink-panicking": func() { os.Exit(panicking()) },
	})
}

func program() int {
	ctx, stop := UntilTold(context.Background())
	defer stop()
	return Main(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.DirFS(os.Getenv("ROOT")))
}

// TestScripts plays the stories of testdata/script with the real commands.
func TestScripts(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("ROOT", root)
			e.Setenv("DRILL", filepath.Join(root, "testdata", "drill"))
			e.Setenv("PORTS", filepath.Join(root, "testdata", "ports"))
			e.Setenv("NO_COLOR", "1")
			return nil
		},
		Condition: func(cond string) (bool, error) {
			// Where CI promises a lab, a script that needs one fails and does not skip.
			return cond == "lab" && (lab.Available() == nil || os.Getenv("CI") == "true"), nil
		},
		RequireExplicitExec: true,
	})
}
