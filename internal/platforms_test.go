package internal_test

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/go/packages"
)

// TestPlatforms checks the types of all packages for each system that they must build for and the tests do not run on. Most of what compiling for
// these would tell is an error of types, and to compile all libraries once more for each takes ten times as long.
func TestPlatforms(t *testing.T) {
	s := sources{parsed: map[string]*ast.File{}}
	fset := token.NewFileSet()
	for _, platform := range [][2]string{{"darwin", "amd64"}, {"darwin", "arm64"}, {"linux", "arm64"}, {"linux", "386"}} {
		name := platform[0] + "/" + platform[1]
		all, err := packages.Load(&packages.Config{
			Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps | packages.NeedTypes | packages.NeedTypesSizes,
			Dir:  "..",
			Env:  append(os.Environ(), "CGO_ENABLED=0", "GOOS="+platform[0], "GOARCH="+platform[1]),
			Fset: fset, ParseFile: s.parse,
		}, "./...")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		packages.Visit(all, nil, func(p *packages.Package) {
			if len(p.GoFiles) > 0 && isStandard(p.GoFiles[0]) {
				return // misses the bodies that parse left out
			}
			for _, err := range p.Errors {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

// sources are the files that were parsed: most are the same on all systems.
type sources struct {
	mu     sync.Mutex
	parsed map[string]*ast.File
}

// parse parses a file, of the standard library without what its functions do: that is right on each system that Go is released for.
func (s *sources) parse(fset *token.FileSet, name string, src []byte) (*ast.File, error) {
	s.mu.Lock()
	f := s.parsed[name]
	s.mu.Unlock()
	if f != nil {
		return f, nil
	}
	f, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
	if err != nil {
		return f, err
	}
	if isStandard(name) {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				fn.Body = nil
			}
		}
	}
	s.mu.Lock()
	s.parsed[name] = f
	s.mu.Unlock()
	return f, nil
}

func isStandard(file string) bool {
	return strings.HasPrefix(file, filepath.Join(build.Default.GOROOT, "src")+string(filepath.Separator))
}
