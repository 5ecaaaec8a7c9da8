package lab_test

import (
	"os"
	"testing"

	"whichlink/internal/lab"
	"whichlink/internal/lab/labtest"
)

func TestMain(m *testing.M) {
	if code, ok := lab.Play(os.Args); ok {
		os.Exit(code)
	}
	labtest.Main(m)
}
