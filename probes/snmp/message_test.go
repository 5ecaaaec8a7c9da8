package snmp

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gosnmp/gosnmp"

	"whichlink/probes/snmp/ber"
)

// Requests are written as the library writes them.
func TestRequests(t *testing.T) {
	long := "1.3"
	for i := range 126 {
		long += fmt.Sprintf(".%d", 1<<31+uint64(i))
	}
	for _, c := range []struct {
		kind      gosnmp.PDUType
		names     []string
		two       [2]int
		community string
	}{
		{gosnmp.GetRequest, []string{oidSysUpTime}, [2]int{}, "public"},
		{gosnmp.GetNextRequest, []string{"1.3.6.1.2.1.2.2.1.8.127", "1.3.6.1.2.1.2.2.1.8.128", "1.0.8802.1.1.2.1.4.1.1.9.16384.4294967295.0"}, [2]int{}, ""},
		{gosnmp.GetBulkRequest, []string{"1.3.6.1.2.1.1.3", "1.3.6.1.2.1.31.1.1.1.6.268435456", "2.5.1", "2.999.3"}, [2]int{1, 200}, strings.Repeat("x", 127)},
		{gosnmp.GetBulkRequest, []string{long, long}, [2]int{0, 50}, "public"},
	} {
		g := &gosnmp.GoSNMP{Version: gosnmp.Version2c, Community: c.community}
		var vars []gosnmp.SnmpPDU
		for _, n := range c.names {
			vars = append(vars, gosnmp.SnmpPDU{Name: "." + n, Type: gosnmp.Null})
		}
		want, err := g.SnmpEncodePacket(c.kind, vars, uint8(c.two[0]), uint32(c.two[1]))
		if err != nil {
			t.Fatal(err)
		}
		id, err := gosnmp.Default.SnmpDecodePacket(want)
		if err != nil {
			t.Fatal(err)
		}
		names := mustOIDs(c.names)
		q := query{kind: byte(c.kind), names: names, nonRepeaters: c.two[0], repetitions: c.two[1]}
		if got := appendMessage(nil, c.community, id.RequestID, &q, appendBindings(nil, names)); !bytes.Equal(got, want) {
			t.Errorf("%v:\n%x, want\n%x", c.names, got, want)
		}
	}
}

// Answers are read as agents write them: numbers in more octets than they need or without the one that keeps them positive, too; and what is no answer is told from
// what is a broken one.
func TestAnswers(t *testing.T) {
	binding := func(value string) string {
		b := append([]byte{ber.ObjectIdentifier, 4, 0x2b, 6, 0x81, 1}, value...) // the last part has two octets
		return string(append(ber.AppendHead(nil, ber.Sequence, len(b)), b...))
	}
	for value, want := range map[string]Value{
		"\x02\x01\xff": {Type: 2, Number: 1<<64 - 1}, "\x02\x02\x00\xff": {Type: 2, Number: 255}, "\x41\x04\xff\xff\xff\xff": {Type: 0x41, Number: 1<<32 - 1},
		"\x41\x05\x00\xff\xff\xff\xff": {Type: 0x41, Number: 1<<32 - 1}, "\x46\x09\x00\xff\xff\xff\xff\xff\xff\xff\xff": {Type: 0x46, Number: 1<<64 - 1},
		"\x46\x81\x01\x07": {Type: 0x46, Number: 7}, "\x04\x00": {Type: 4}, "\x04\x82\x00\x02a\x00": {Type: 4, Text: "a\x00"},
		"\x06\x03\x2b\x06\x01": {Type: 6, Text: "1.3.6.1"}, "\x40\x04\x0a\x00\x00\x01": {Type: 0x40, Text: "10.0.0.1"},
		"\x81\x00": {}, "\x82\x00": {}, "\x05\x00": {}, "\x41\x00": {}, "\x46\x09\x01\x00\x00\x00\x00\x00\x00\x00\x00": {}, "\x40\x03\x0a\x00\x00": {}, "\x06\x01\x80": {}, "\x99\x01\x01": {},
	} {
		var p parser
		r, err := p.parse(answer([]byte{7}, 0, []byte(binding(value))), func(id uint32) bool { return id == 7 })
		if err != nil || len(r.vars) != 1 || r.vars[0].name.String() != "1.3.6.129" {
			t.Errorf("%x: %+v, %v", value, r, err)
			continue
		}
		if d := cmp.Diff(want, r.vars[0].value); d != "" || r.vars[0].there != (want != Value{}) || r.vars[0].ended != (value[0] == 0x82) {
			t.Errorf("%x: %+v %s", value, r.vars[0], d)
		}
	}
	whole := answer([]byte{7}, 5, []byte(binding("\x02\x01\x01")))
	for at := range whole {
		var p parser
		_, err := p.parse(whole[:at], func(uint32) bool { return true })
		if want := map[bool]error{true: errForeign, false: errBroken}[at < bytes.Index(whole, []byte{2, 1, 7})+3]; !errors.Is(err, want) {
			t.Errorf("cut at %d: %v, want %v", at, err, want)
		}
	}
	var p parser
	if r, err := p.parse(whole, func(id uint32) bool { return id == 7 }); err != nil || r.status != gosnmp.GenErr {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := p.parse(whole, func(id uint32) bool { return id == 8 }); !errors.Is(err, errForeign) {
		t.Errorf("the answer to another request: %v", err)
	}
}
