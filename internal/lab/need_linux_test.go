package lab

import (
	"os"
	"testing"
)

// Play is what TestMain, in a package of its own, calls of this one.
var Play = play

// needLab skips a test where the machine permits no lab, and fails it where CI promises that it does.
func needLab(t testing.TB) {
	t.Helper()
	switch err := Available(); {
	case err == nil:
	case os.Getenv("CI") == "true":
		t.Fatal(err)
	default:
		t.Skip("cannot run here: ", err)
	}
}
