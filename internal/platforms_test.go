package internal_test

import (
	"os"
	"testing"

	"golang.org/x/tools/go/packages"
)

// TestPlatforms checks the types of all packages for each system that they must build for and the tests do not run on. Most of what compiling for
// these would tell is an error of types, and to compile all libraries once more for each takes ten times as long.
func TestPlatforms(t *testing.T) {
	for _, platform := range [][2]string{{"darwin", "amd64"}, {"darwin", "arm64"}, {"linux", "arm64"}, {"linux", "386"}} {
		name := platform[0] + "/" + platform[1]
		all, err := packages.Load(&packages.Config{
			Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps | packages.NeedTypes | packages.NeedTypesSizes,
			Dir:  "..",
			Env:  append(os.Environ(), "CGO_ENABLED=0", "GOOS="+platform[0], "GOARCH="+platform[1]),
		}, "./...")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		packages.Visit(all, nil, func(p *packages.Package) {
			for _, err := range p.Errors {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}
