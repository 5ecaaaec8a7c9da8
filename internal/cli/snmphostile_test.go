package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"whichlink/probes/snmp/agentsim"
	"whichlink/probes/snmp/ber"
)

// What an agent calls itself, its ports and its neighbours is shown by every command that asks it, cleaned: with no more in it than what can be printed.
func TestSNMPHostileNames(t *testing.T) {
	const evil = "\x1b[2J\x1b]0;owned\x07\r\nwhichlink: all is well\x9b31m\xff\u202e"
	const remote, local = "1.0.8802.1.1.2.1.4.1.1.", "1.0.8802.1.1.2.1.3.7.1."
	tree := switchTree()
	for oid, text := range map[string]string{
		"1.3.6.1.2.1.1.1.0": "descr", "1.3.6.1.2.1.1.5.0": "sys", "1.3.6.1.2.1.31.1.1.1.18.1": "alias", "1.3.6.1.2.1.2.2.1.2.2": "ifdescr", "1.3.6.1.2.1.31.1.1.1.1.2": "ifname",
		remote + "5.0.1.1": "chassis", remote + "7.0.1.1": "portid", remote + "8.0.1.1": "portdescr", remote + "9.0.1.1": "remote", remote + "10.0.1.1": "sysdescr",
	} {
		tree.Set(oid, ber.OctetString, text+evil)
	}
	tree.Set(remote+"4.0.1.1", ber.Integer, 7)
	tree.Set(remote+"6.0.1.1", ber.Integer, 7)
	tree.Set(local+"2.1", ber.Integer, 5)
	tree.Set(local+"3.1", ber.OctetString, "swp1")
	sim, err := agentsim.Start("127.0.0.1:0", secret, tree, agentsim.Faults{})
	if err != nil {
		t.Fatal(err)
	}
	defer sim.Close()
	t.Setenv("WHICHLINK_SNMP_COMMUNITY", secret)
	file := filepath.Join(t.TempDir(), "snmp.jsonl")
	for _, c := range []struct {
		arguments []string
		shown     []string
	}{
		{[]string{"snmp", "poll", sim.Address()}, []string{"sys", "ifname", "remote"}},
		{[]string{"snmp", "poll", sim.Address(), "-o", "json"}, []string{"sys", "alias", "ifname", "remote"}},
		{[]string{"snmp", "discover", sim.Address()}, []string{"sys", "remote"}},
		{[]string{"snmp", "discover", sim.Address(), "-o", "json"}, []string{"sys", "remote"}},
		{[]string{"snmp", "watch", sim.Address(), "--status", "100ms", "--counters", "100ms", "--for", "2500ms", "-v", "--out", file}, nil},
	} {
		code, out, said := whichlink(t, c.arguments...)
		if code != 0 {
			t.Errorf("%q: %d\n%s", c.arguments, code, said)
		}
		if c.shown == nil {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			out, c.shown = string(text), []string{"ifname", "remote"} // a name with a colon is none of a node: it is called by its address
		}
		for _, stream := range []string{out, said} {
			bad := func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) }
			if !utf8.ValidString(stream) || strings.ContainsFunc(stream, bad) || strings.Contains(stream, "\nwhichlink: all is well") {
				t.Errorf("%q: shown as it came: %q", c.arguments, stream)
			}
		}
		for _, word := range c.shown {
			if !strings.Contains(out, word+"\ufffd[2J") {
				t.Errorf("%q: the name of %s is not shown:\n%s", c.arguments, word, out)
			}
		}
	}
}
