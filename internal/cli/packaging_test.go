package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestPackages holds the configuration of releases against the tree: every file that a package brings is there, or is made by the hooks before; and what
// units call is a command with these flags.
func TestPackages(t *testing.T) {
	const root = "../../"
	text, err := os.ReadFile(root + ".goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var release struct {
		Version int
		Builds  []struct{ ID string }
		Nfpms   []struct {
			IDs, Formats []string
			Scripts      map[string]string
			Contents     []struct{ Src, Dst, Type string }
		}
	}
	if err := yaml.Unmarshal(text, &release); err != nil {
		t.Fatal(err)
	}
	if release.Version != 2 || len(release.Builds) != 2 || len(release.Nfpms) != 1 {
		t.Fatalf("%+v", release)
	}
	made := t.TempDir()
	rootCmd := newRootCmd(&env{})
	rootCmd.SetArgs([]string{"man", made})
	if err := rootCmd.Execute(); err != nil {
		t.Fatal(err)
	}
	for _, script := range release.Nfpms[0].Scripts {
		if _, err := os.Stat(root + script); err != nil {
			t.Error(err)
		}
	}
	for _, c := range release.Nfpms[0].Contents {
		if c.Type == "dir" || strings.HasPrefix(c.Src, "dist-extra/completions/") {
			continue
		}
		where := root + c.Src
		if after, ok := strings.CutPrefix(c.Src, "dist-extra/man/"); ok {
			where = filepath.Join(made, after)
		}
		if found, err := filepath.Glob(where); err != nil || len(found) == 0 {
			t.Errorf("no file %s", c.Src)
		}
	}
	units, err := filepath.Glob(root + "packaging/*.service")
	if err != nil || len(units) != 2 {
		t.Fatalf("%v: %v", units, err)
	}
	for _, u := range units {
		text, err := os.ReadFile(u)
		if err != nil {
			t.Fatal(err)
		}
		call := regexp.MustCompile(`(?m)^ExecStart=/usr/bin/whichlink (.*)$`).FindStringSubmatch(string(text))
		if call == nil {
			t.Errorf("%s starts nothing", u)
			continue
		}
		cmd, rest, err := newRootCmd(&env{}).Find(strings.Fields(call[1]))
		if err != nil || cmd.Name() == "whichlink" {
			t.Errorf("%s: no command in %q: %v", u, call[1], err)
			continue
		}
		if err := cmd.ParseFlags(rest); err != nil {
			t.Errorf("%s: %v", u, err)
		}
	}
}
