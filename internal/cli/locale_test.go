package cli

import "testing"

func TestASCIIAlone(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want bool
	}{
		{nil, false},
		{map[string]string{"TERM": "xterm-256color"}, false},
		{map[string]string{"TERM": "vt100"}, true},
		{map[string]string{"TERM": "vt220", "LANG": "en_US.UTF-8"}, true},
		{map[string]string{"TERM": "vte-256color"}, false},
		{map[string]string{"LANG": "C"}, true},
		{map[string]string{"LANG": "C.UTF-8"}, false},
		{map[string]string{"LANG": "de_DE.utf8"}, false},
		{map[string]string{"LANG": "de_DE@euro"}, true},
		{map[string]string{"LANG": "en_US.UTF-8", "LC_ALL": "POSIX"}, true},
		{map[string]string{"LANG": "C", "LC_CTYPE": "C.UTF-8"}, false},
		{map[string]string{"LANG": "C", "LC_ALL": ""}, true},
	} {
		if got := asciiAlone(func(name string) string { return c.env[name] }); got != c.want {
			t.Errorf("%v: %v", c.env, got)
		}
	}
}
