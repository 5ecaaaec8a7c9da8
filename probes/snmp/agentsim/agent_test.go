package agentsim

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"whichlink/probes/snmp/ber"
)

// TestWalked walks recordings of real devices with net-snmp's own tool: it must see what was recorded, value for value, no more and no less.
func TestWalked(t *testing.T) {
	walk, err := exec.LookPath("snmpbulkwalk")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("net-snmp's snmpbulkwalk is not installed")
	}
	var files []string
	for _, pattern := range []string{"librenms/*.snmprec.gz", "opennms/nms17216/router*.txt.gz", "lab-netsnmp/*.txt"} {
		names, _ := filepath.Glob(filepath.Join("../../../../shared/data/snmp", pattern))
		files = append(files, names...)
	}
	if len(files) == 0 {
		t.Skip("no recordings of real devices: ../shared/data/snmp is absent")
	}
	// What people hand on was printed in many ways.
	forms := [][]string{{"-On"}, {"-OnQ"}, {}, {"-On", "-Ot"}, {"-Onq"}, {"-On", "-Ox"}, {"-OQ"}, {"-OnT"}}
	for i, file := range files {
		form := forms[i%len(forms)]
		tree, err := Load(file)
		if err != nil {
			t.Fatal(err)
		}
		a, err := Start("127.0.0.1:0", "public", tree.Clone(), Faults{MaxMessage: 1400})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		arguments := append([]string{"-v2c", "-c", "public", "-m", "", "-M", "", "-t", "3", "-r", "1", "-Cr50"}, form...)
		out, err := exec.Command(walk, append(arguments, a.Address(), ".1")...).Output()
		if err != nil {
			t.Errorf("%s: %v", file, err)
		}
		got, err := Read(bytes.NewReader(out), "walk")
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		a.Change(func(served *Tree) { same(t, fmt.Sprint(filepath.Base(file), form), served, got) })
	}
}

// same compares what is served with what a walk printed. Texts that are printed as if they were others (OIDs as text, opaque values) are left out.
func same(t *testing.T, file string, want, got *Tree) {
	t.Helper()
	got.sort()
	j := 0
	for i := range want.rows {
		w := &want.rows[i]
		if j < len(got.rows) && w.id.String() == got.rows[j].id.String() {
			g := &got.rows[j]
			j++
			if bytes.Equal(w.content, g.content) || w.id.String() == sysUpTime.String() || w.tag == Opaque || w.tag == ber.OctetString && loose(w.content) {
				continue
			}
			t.Errorf("%s: %s: %q, served is %q", file, w.id, g.content, w.content)
			return
		}
		if w.tag != Opaque && w.tag != ber.Null && walkKnows(w.tag) {
			t.Errorf("%s: %s was not seen", file, w.id)
			return
		}
	}
	if j != len(got.rows) {
		t.Errorf("%s: %d of %d values were served", file, j, len(got.rows))
	}
}

func walkKnows(tag byte) bool {
	for _, known := range walkTypes {
		if tag == known {
			return true
		}
	}
	return tag == ber.OctetString
}

// loose texts do not come back from a walk as they were: it prints line ends, marks and blanks at the ends as they are.
func loose(b []byte) bool {
	return strings.ContainsAny(string(b), "\r\n\\\"") || strings.TrimSpace(string(b)) != string(b) || bytes.IndexByte(b, 0) >= 0
}

func TestIntegers(t *testing.T) {
	for _, n := range []int64{0, 1, -1, 127, 128, -128, -129, 255, 256, 65535, -65536, math.MaxInt32, math.MinInt32, math.MaxInt64, math.MinInt64} {
		c := ber.Cursor{Rest: appendTLV(nil, ber.Integer, signedContent(n))}
		if got := c.Number(); got != n || c.Bad || c.Cut {
			t.Errorf("%d came back as %d, %+v", n, got, c)
		}
	}
	if c := unsignedContent(math.MaxUint64); len(c) != 9 || c[0] != 0 {
		t.Errorf("2^64-1 is % x", c)
	}
}

// TestOIDs: 2.999 and parts of 32 bits are the corners of X.690, 8.19.
func TestOIDs(t *testing.T) {
	for _, s := range []string{"1.3.6.1.2.1.1.3.0", "0.39", "2.999.3", "1.0.8802.1.1.2.1.4.1.1.4294967295", "1.3.111.2.802.1.1.13"} {
		o, err := parseOID("." + s)
		if err != nil {
			t.Fatal(err)
		}
		c := ber.Cursor{Rest: appendTLV(nil, ber.ObjectIdentifier, oidContent(o))}
		if got, ok := ber.Name(nil, c.In(ber.ObjectIdentifier)); !ok || oid(got).String() != s || c.Bad || c.Cut {
			t.Errorf("%s came back as %v, %+v", s, got, c)
		}
	}
	for _, s := range []string{"", "1", "3.1", "1.40", "1.3.x", "1.3.4294967296", "1..3", strings.Repeat("1.", 128) + "1"} {
		if _, err := parseOID(s); err == nil {
			t.Errorf("%q is taken for an OID", s)
		}
	}
}

func TestReadErrors(t *testing.T) {
	for in, want := range map[string]string{
		"1.3.6.1|2\n":                   `f:1: "1.3.6.1|2" is not OID|TYPE|VALUE`,
		"1.3.6.1|2|5\n1.3.6.2|2|five\n": `f:2: "five" is not an integer`,
		"1.3.6.1|65|4294967296\n":       `f:1: "4294967296" is not a number of 32 bits`,
		"1.3.6.1|4x|0g\n":               `f:1: "0g" is not hex`,
		"1.3.6.1|99|0\n":                `f:1: type 99 is not known`,
		"# a comment\n1.3.6.x|2|1\n":    `f:2: "1.3.6.x" is not an object identifier`,
		".1.3.6.1 = IpAddress: 1.2.3\n": `f:1: 1.3.6.1: "1.2.3" is not an IPv4 address`,
	} {
		if _, err := Read(strings.NewReader(in), "f"); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", in, err, want)
		}
	}
}

// FuzzRead: whatever can be read can be served, and is read the same from its own form.
func FuzzRead(f *testing.F) {
	f.Add([]byte("1.3.6.1.2.1.1.3.0|67|5\n1.3.6.1.2.1.1.5.0|4|sw1\n1.3.6.1.2.1.2.2.1.6.1|4x|00ff\n1.3.6.1.2.1.1.2.0|6|1.3.6.1\n1.3.6.1.1|64|10.0.0.1\n"))
	f.Add([]byte(".1.3.6.1.2.1.1.1.0 = STRING: \"two\nlines\"\n.1.3.6.1.2.1.1.3.0 = Timeticks: (17) 0:00:00.17\n.1.3.6.1.2.1.2.2.1.6.1 = Hex-STRING: 00 16 \nC8 BD\n.1.3.6.1.2.1.2.2.1.8.1 = INTEGER: up(1)\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		tree, err := Read(bytes.NewReader(in), "f")
		if err != nil {
			return
		}
		var form strings.Builder
		for i := range tree.rows {
			fmt.Fprintf(&form, "%s|%dx|%x\n", tree.rows[i].id, tree.rows[i].tag, tree.rows[i].content)
		}
		again, err := Read(strings.NewReader(form.String()), "g")
		if err != nil || again.Len() != tree.Len() {
			t.Fatalf("%d rows came back as %d: %v", tree.Len(), again.Len(), err)
		}
	})
}

// FuzzRequest: no request makes an agent panic, whatever its faults.
func FuzzRequest(f *testing.F) {
	get := appendTLV(nil, ber.Sequence, appendTLV(appendTLV(nil, ber.ObjectIdentifier, oidContent(oid{1, 3, 6, 1})), ber.Null, nil))
	pdu := appendTLV(appendTLV(appendTLV(appendTLV(nil, ber.Integer, []byte{9}), ber.Integer, []byte{0}), ber.Integer, []byte{20}), ber.Sequence, get)
	f.Add(appendTLV(nil, ber.Sequence, appendTLV(appendTLV(appendTLV(nil, ber.Integer, []byte{1}), ber.OctetString, []byte("public")), getBulk, pdu)))
	tree := &Tree{}
	tree.Set("1.3.6.1.2.1.2.2.1.2.1", ber.OctetString, "swp1")
	tree.Set("1.3.6.1.2.1.2.2.1.2.2", ber.OctetString, "swp2")
	a, err := Start("127.0.0.1:0", "public", tree, Faults{Endless: "1.3.6.1.2.1.2", Loop: "1.3.6.1.2.1.1", MaxMessage: 1400})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = a.Close() })
	f.Fuzz(func(t *testing.T, in []byte) {
		if out, _, _ := a.answer(in); len(out) > 64<<10 {
			t.Fatalf("an answer of %d bytes", len(out))
		}
	})
}

// TestReadOddities: what tools and hands have made of recordings is read for what it was.
func TestReadOddities(t *testing.T) {
	const descr, name, ticks, mac = "1.3.6.1.2.1.1.1.0", "1.3.6.1.2.1.1.5.0", "1.3.6.1.2.1.1.3.0", "1.3.6.1.2.1.2.2.1.6.1"
	for what, c := range map[string]struct {
		in   string
		want map[string]string
	}{
		"quotes and lines":     {".1.3.6.1.2.1.1.1.0 = STRING: \"a \\\"b\\\"\n.1.2 = c\"\n.1.3.6.1.2.1.1.5.0 = STRING: sw1", map[string]string{descr: "a \"b\"\n.1.2 = c", name: "sw1"}},
		"wrapped hex":          {".1.3.6.1.2.1.2.2.1.6.1 = Hex-STRING: 00 1B \n21 0F \nA1 B2 \n.1.3.6.1.2.1.1.5.0 = STRING: \"sw1\"", map[string]string{mac: "\x00\x1b\x21\x0f\xa1\xb2", name: "sw1"}},
		"hex and its text":     {".1.3.6.1.2.1.1.5.0 = Hex-STRING: 73 77 31 [sw1]\n", map[string]string{name: "sw1"}},
		"iso":                  {"iso.3.6.1.2.1.1.5.0 = STRING: \"sw1\"\niso.3.6.1.2.1.1.3.0 = Timeticks: (17) 0:00:00.17", map[string]string{name: "sw1", ticks: "\x11"}},
		"no dot":               {"1.3.6.1.2.1.1.5.0 = STRING: \"sw1\"\n1.3.6.1.2.1.1.3.0 = Timeticks: 17\n", map[string]string{name: "sw1", ticks: "\x11"}},
		"the types not told":   {".1.3.6.1.2.1.1.5.0 = \"sw1\"\n.1.3.6.1.2.1.1.3.0 = 0:0:01:00.17\n.1.3.6.1.2.1.2.2.1.6.1 = \"00 1B 21 0F A1 B2 \"", map[string]string{name: "sw1", ticks: "\x17\x81", mac: "\x00\x1b\x21\x0f\xa1\xb2"}},
		"quick":                {".1.3.6.1.2.1.1.5.0 \"sw 1\"\n.1.3.6.1.2.1.1.3.0 17", map[string]string{name: "sw 1", ticks: "\x11"}},
		"what is not there":    {".1.3.6.1.2.1.1.5.0 = No Such Object available on this agent at this OID\n.1.3.6.1.2.1.1.3.0 = Timeticks: 17\n.1.3.6.1.2.1.1.9.0 = No more variables left in this MIB View (It is past the end of the MIB tree)\n", map[string]string{ticks: "\x11"}},
		"a type that is wrong": {".1.3.6.1.2.1.1.3.0 = Wrong Type (should be Timeticks): INTEGER: 17\n", map[string]string{ticks: "\x11"}},
		"the tool gave up":     {".1.3.6.1.2.1.1.3.0 = Timeticks: (17) 0:00:00.17\nTimeout: No Response from 10.0.0.1\n", map[string]string{ticks: "\x11"}},
		"order and doubles":    {".1.3.6.1.2.1.1.5.0 = STRING: \"old\"\r\n.1.3.6.1.2.1.1.3.0 = Timeticks: (17) 0:00:00.17\r\n.1.3.6.1.2.1.1.5.0 = STRING: \"sw1\"\r\n", map[string]string{name: "sw1", ticks: "\x11"}},
		"a mark in front":      {"\ufeff# a comment\n.1.3.6.1.2.1.1.5.0|4|sw1\n", map[string]string{name: "sw1"}},
		"escapes":              {"1.3.6.1.2.1.1.5.0|4e|sw\\x31\n", map[string]string{name: "sw1"}},
		"one line is damaged":  {strings.Repeat("1.3.6.1.2.1.1.3.0|67|17\n", 150) + "1.3.6.1.2.1.2.2.1.10.1|65|\n", map[string]string{ticks: "\x11"}},
	} {
		tree, err := Read(strings.NewReader(c.in), "f")
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		got := map[string]string{}
		for _, r := range tree.rows {
			got[r.id.String()] = string(r.content)
		}
		if !maps.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", what, got, c.want)
		}
	}
}
