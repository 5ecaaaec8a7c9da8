package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"whichlink/graphs"
	"whichlink/tui"
)

// settingsPath is where somebody's keys, themes and other wishes for the screens are: whichlink/config.toml in $XDG_CONFIG_HOME, or in ~/.config where that
// is not set.
func settingsPath() (string, error) {
	base := os.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(base) { // the specification: a path that is relative is to be ignored
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("find the settings: %w", err)
		}
		base = filepath.Join(home, ".config")
	}
	return filepath.Join(base, "whichlink", "config.toml"), nil
}

// readSettings reads that file. That there is none is no error, and told by the words.
func readSettings() (s tui.Settings, words string, err error) {
	path, err := settingsPath()
	if err != nil {
		return s, "", err
	}
	text, err := readSmall(path, tui.MostSettings)
	if errors.Is(err, fs.ErrNotExist) {
		return s, "keys and themes are the program's own: no " + graphs.Clean(path), nil
	} else if err != nil {
		return s, "", err
	}
	s, err = tui.ReadSettings(path, text)
	return s, "keys and themes are those of " + graphs.Clean(path), err
}

// examineSettings says where settings are read from, and whether they can be.
func examineSettings() check {
	c := check{Name: "screen settings"}
	_, words, err := readSettings()
	if c.OK, c.Why = err == nil, words; err != nil {
		c.Why, c.Fix = err.Error(), "mend that line, or take the file away; until then the screens go on without it"
	}
	return c
}
