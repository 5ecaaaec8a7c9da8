package probes

import (
	"testing"

	"whichlink/internal/lab/labtest"
)

func TestMain(m *testing.M) { labtest.Main(m) }
