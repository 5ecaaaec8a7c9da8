package lab

import (
	"fmt"
	"os"
	"testing"
)

// unavailable says why the machine permits no lab; nil where it does.
var unavailable error

func TestMain(m *testing.M) {
	if code, ok := play(os.Args); ok {
		os.Exit(code)
	}
	unavailable = Enter()
	if unavailable == nil {
		unavailable = Available()
	}
	os.Exit(m.Run())
}

// needLab skips a test where the machine permits no lab, and fails it where CI promises that it does.
func needLab(t testing.TB) {
	t.Helper()
	if unavailable == nil {
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatal(unavailable)
	}
	t.Skip(fmt.Sprint("cannot run here: ", unavailable))
}
