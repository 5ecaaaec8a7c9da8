package agentsim

import (
	"bufio"
	"compress/gzip"
	"encoding/hex"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"whichlink/probes/snmp/ber"
)

// Load reads a recording, which may be compressed with gzip.
func Load(file string) (*Tree, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var in io.Reader = f
	if strings.HasSuffix(file, ".gz") {
		z, err := gzip.NewReader(f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		defer z.Close()
		in = z
	}
	return Read(in, file)
}

// tolerated is the share of lines that may be damaged, as those of recordings are at times: they are left out.
const tolerated = 0.01

// Read reads a recording: `.snmprec` (lines OID|type|value) or what snmpwalk prints with numeric OIDs (-On; with -OQ or -Oq, too), told by the first
// line. What no agent can have sent, such as the lines of a table that a filter cut, is an error that names file and line, unless it is no more than
// one line in a hundred.
func Read(r io.Reader, file string) (*Tree, error) {
	t := &Tree{}
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 64<<10), 4<<20)
	var of func(line string) error
	var w walk
	var first error
	n, damaged := 0, 0
	note := func(err error) {
		if damaged++; first == nil {
			first = fmt.Errorf("%s:%d: %w", file, n, err)
		}
	}
	for lines.Scan() {
		n++
		line := strings.TrimRight(lines.Text(), "\r")
		if of == nil {
			line = strings.TrimPrefix(line, "\ufeff")
			if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
				continue
			}
			w = walk{tree: t, between: " = "}
			switch i := strings.IndexAny(line, "| "); {
			case i >= 0 && line[i] == '|' || i < 0:
				of = t.record
			case !strings.HasPrefix(line[i:], " ="):
				w.between = " "
				fallthrough
			default:
				of = w.line
			}
		}
		if err := of(line); err != nil {
			note(err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", file, n+1, err)
	}
	if err := w.close(); err != nil {
		note(err)
	}
	if float64(damaged) > tolerated*float64(n) {
		return nil, first
	}
	t.sort()
	return t, nil
}

// record reads one line of a .snmprec file: the type is the BER tag in decimal, with x if the value is in hex. Values that a module of
// snmpsim computes (type:module) are left out: they were not recorded.
func (t *Tree) record(line string) error {
	if line == "" || strings.HasPrefix(line, "#") {
		return nil
	}
	name, rest, ok := strings.Cut(line, "|")
	kind, value, ok2 := strings.Cut(rest, "|")
	if !ok || !ok2 {
		return fmt.Errorf("%q is not OID|TYPE|VALUE", clip(line))
	}
	if strings.Contains(kind, ":") {
		return nil
	}
	id, err := parseOID(name)
	if err != nil {
		return err
	}
	kind, inHex := strings.CutSuffix(kind, "x")
	kind, escaped := strings.CutSuffix(kind, "e")
	n, err := strconv.ParseUint(kind, 10, 8)
	if err != nil {
		return fmt.Errorf("%q is not a type", clip(kind))
	}
	tag := byte(n)
	if inHex {
		raw, err := hex.DecodeString(value)
		if err != nil {
			return fmt.Errorf("%q is not hex", clip(value))
		}
		t.add(id, tag, raw)
		return nil
	}
	if escaped {
		if plain, err := strconv.Unquote(`"` + strings.ReplaceAll(value, `"`, `\"`) + `"`); err == nil {
			value = plain
		}
	}
	content, err := recorded(tag, value)
	if err != nil {
		return err
	}
	t.add(id, tag, content)
	return nil
}

// recorded is the content of a value of the given type in its textual form.
func recorded(tag byte, value string) ([]byte, error) {
	switch tag {
	case ber.Integer:
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is not an integer", clip(value))
		}
		return signedContent(n), nil
	case Counter32, Gauge32, TimeTicks, Counter64:
		bits := 32
		if tag == Counter64 {
			bits = 64
		}
		n, err := strconv.ParseUint(value, 10, bits)
		if err != nil {
			return nil, fmt.Errorf("%q is not a number of %d bits", clip(value), bits)
		}
		return unsignedContent(n), nil
	case ber.ObjectIdentifier:
		o, err := parseOID(value)
		if err != nil {
			return nil, err
		}
		return oidContent(o), nil
	case IPAddress:
		a, err := netip.ParseAddr(value)
		if err != nil || !a.Is4() {
			return nil, fmt.Errorf("%q is not an IPv4 address", clip(value))
		}
		return a.AsSlice(), nil
	case ber.OctetString, Opaque:
		return []byte(value), nil
	case ber.Null:
		return nil, nil
	}
	return nil, fmt.Errorf("type %d is not known", tag)
}
