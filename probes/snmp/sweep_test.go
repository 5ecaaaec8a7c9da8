package snmp

import "testing"

func TestAfter(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"1.3.6.2", "1.3.6.1", true}, {"1.3.6.10", "1.3.6.9", true}, {"1.3.6", "1.3.6.1", false}, {"1.3.6.1", "1.3.6", true},
		{"1.3.6", "1.3.6", false}, {"1.3.61", "1.3.6", true}, {"1.3.6", "1.3.61", false}, {"1.3.6.19.1", "1.3.6.2.9", true}, {"1.3.6.", "1.3.6", true},
		{"", "1.3", false}, {"1.3", "", true}, {"1.30.1", "1.3.2", true}, {"1.3.5.9", "1.3.6", false}, {"1.x", "1.1", false}, {"1.4294967296", "1.1", false},
	} {
		if got := after(c.a, c.b); got != c.want {
			t.Errorf("after(%s, %s) = %v", c.a, c.b, got)
		}
	}
}
