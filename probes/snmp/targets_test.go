package snmp

import (
	"strings"
	"testing"
)

func TestTargets(t *testing.T) {
	for word, want := range map[string]string{
		"sw01": "sw01", "10.0.0.1:1161": "10.0.0.1:1161", "[fe80::1]:161": "[fe80::1]:161", "2001:db8::1": "2001:db8::1",
		"10.0.0.0/30": "10.0.0.1 10.0.0.2", "10.0.0.5/31": "10.0.0.4 10.0.0.5", "10.0.0.7/32": "10.0.0.7",
		"10.0.0.0/30:1161": "10.0.0.1:1161 10.0.0.2:1161", "2001:db8::/127": "2001:db8:: 2001:db8::1",
	} {
		got, err := Targets(word)
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: %v, %v; want %s", word, got, err, want)
		}
	}
	for _, word := range []string{"", "a b", "10.0.0.0/8", "10.0.0.0/33", "10.0.0.0/24:0", "2001:db8::/64", "host:x", "secret@host", "10.0.0.300", "1.2.3:161"} {
		if got, err := Targets(word); err == nil {
			t.Errorf("%q: %v", word, got)
		}
	}
}
