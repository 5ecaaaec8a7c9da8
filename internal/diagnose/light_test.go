package diagnose

import (
	"slices"
	"strings"
	"testing"

	"whichlink/internal/evidence"
)

// TestLight has transceivers tell light beyond their limits: of suspects it says why and what to do, elsewhere it is a note, and it never names anything itself.
func TestLight(t *testing.T) {
	dbm := func(v float64) *float64 { return &v }
	limits := &evidence.LightLimits{LowAlarm: dbm(-14), LowWarning: dbm(-12), HighWarning: dbm(2)}
	const sending = "leaf1:swp2"
	for _, c := range []struct {
		name     string
		rx, tx   evidence.Lane // of the receiving port and of the sending one
		lossy    bool
		says, do string // "" where nothing is to be said
		note     string
	}{
		{"too little received, enough sent", evidence.Lane{Rx: dbm(-13.25), RxLimits: limits}, evidence.Lane{Tx: dbm(-1.5), TxLimits: limits}, true,
			receiving + " receives -13.25 dBm, below the low warning of -12 dBm", "clean both ends of the fibre of " + sickLink, ""},
		{"too little received and sent", evidence.Lane{Lane: 3, Rx: dbm(-14.2), RxLimits: limits}, evidence.Lane{Lane: 3, Tx: dbm(-15), TxLimits: limits}, true,
			sending + " sends -15 dBm in lane 3, below the low alarm of -14 dBm", "replace the transceiver of " + sending, ""},
		{"too little received, of what is sent nothing is known", evidence.Lane{Rx: dbm(-20), RxLimits: limits}, evidence.Lane{Tx: dbm(-1)}, true,
			receiving + " receives -20 dBm, below the low alarm of -14 dBm", "read what " + sending + " sends", ""},
		{"well", evidence.Lane{Rx: dbm(-3), RxLimits: limits}, evidence.Lane{Tx: dbm(1), TxLimits: limits}, true, "", "", ""},
		{"without limits", evidence.Lane{Rx: dbm(-30)}, evidence.Lane{Tx: dbm(1)}, true, "", "", ""},
		{"an alarm where nothing is lost", evidence.Lane{Rx: dbm(-14.5), RxLimits: limits}, evidence.Lane{Tx: dbm(1), TxLimits: limits}, false, "", "",
			"though nothing is known to be lost there: " + receiving + " receives -14.5 dBm, below the low alarm of -14 dBm"},
		{"a warning where nothing is lost", evidence.Lane{Rx: dbm(-13), RxLimits: limits}, evidence.Lane{Tx: dbm(1), TxLimits: limits}, false, "", "", ""},
	} {
		s := newScene(t)
		p := probing{flows: 60, packets: 20, windows: 2}
		if c.lossy {
			p.lose = s.only(0.2, sickArc)
		}
		s.run(p)
		s.poll(10, func(port string, st *evidence.PortState) {
			switch port {
			case receiving:
				st.Optics = []evidence.Lane{c.rx}
			case sending:
				st.Optics = []evidence.Lane{c.tx}
			}
		})
		d := s.diagnosed()
		if (len(d.Suspects) > 0 && d.Suspects[0].Probability >= Named) != c.lossy {
			t.Errorf("%s: %s", c.name, d.Text())
			continue
		}
		if c.lossy {
			x := d.Suspects[0]
			if c.says == "" && (strings.Contains(x.For, "dBm") || len(x.Next) == 0) || !strings.Contains(x.For, c.says) || !strings.Contains(x.Next[0].Do, c.do) ||
				c.says != "" && !slices.ContainsFunc(x.Evidence, func(e Evidence) bool { return e.Text == c.says && e.Source == "snmp" }) {
				t.Errorf("%s: %+v", c.name, x)
			}
		}
		if notes := strings.Join(d.Notes, "; "); strings.Contains(notes, "light beyond") != (c.note != "") || !strings.Contains(notes, c.note) {
			t.Errorf("%s: notes %q", c.name, notes)
		}
	}
}
