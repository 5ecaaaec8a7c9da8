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

// Read reads a recording: `.snmprec` (lines OID|type|value) or what `snmpwalk -On` prints, told by the first line. What no agent can have
// sent, such as the lines of a table that a filter cut, is an error that names file and line.
func Read(r io.Reader, file string) (*Tree, error) {
	t := &Tree{}
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 64<<10), 4<<20)
	var open *walked
	n, recording, known := 0, false, false
	for lines.Scan() {
		n++
		line := strings.TrimRight(lines.Text(), "\r")
		if !known {
			if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
				continue
			}
			recording, known = !strings.HasPrefix(line, "."), true
		}
		var err error
		if recording {
			err = t.record(line)
		} else {
			open, err = t.walked(open, line)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", file, n+1, err)
	}
	if err := open.close(t); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", file, n, err)
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
	kind, _ = strings.CutSuffix(kind, "e")
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
	case Integer:
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
	case ObjectIdentifier:
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
	case OctetString, Opaque:
		return []byte(value), nil
	case Null:
		return nil, nil
	}
	return nil, fmt.Errorf("type %d is not known", tag)
}

// A walked is a value of a walk of which more lines may follow: quoted text and hex go on over the end of a line.
type walked struct {
	id   oid
	kind string
	text string
}

// walked reads one line of a walk. It returns the value that is still open.
func (t *Tree) walked(open *walked, line string) (*walked, error) {
	name, value, ok := strings.Cut(line, " = ")
	if ok && strings.HasPrefix(name, ".") {
		if id, err := parseOID(name); err == nil {
			if err := open.close(t); err != nil {
				return nil, err
			}
			kind, text, typed := strings.Cut(value, ": ")
			if !typed {
				kind, text = strings.TrimSuffix(value, ":"), ""
			}
			return &walked{id, kind, text}, nil
		}
	}
	if open == nil {
		return nil, fmt.Errorf("%q is not OID = TYPE: VALUE", clip(line))
	}
	open.text += "\n" + line
	return open, nil
}

// close adds a value to the tree.
func (w *walked) close(t *Tree) error {
	if w == nil {
		return nil
	}
	text := strings.TrimSpace(w.text)
	switch w.kind {
	case `""`:
		t.add(w.id, OctetString, nil)
		return nil
	case "STRING":
		s := strings.TrimSuffix(strings.TrimPrefix(text, `"`), `"`)
		t.add(w.id, OctetString, []byte(strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(s)))
		return nil
	case "Hex-STRING", "BITS":
		var raw []byte
		for field := range strings.FieldsSeq(text) {
			b, err := hex.DecodeString(field)
			if err != nil {
				break // BITS: names of bits follow
			}
			raw = append(raw, b...)
		}
		t.add(w.id, OctetString, raw)
		return nil
	case "Timeticks":
		text, _, _ = strings.Cut(strings.TrimPrefix(text, "("), ")")
	case "INTEGER": // up(1), or 30 seconds
		if _, number, ok := strings.Cut(text, "("); ok {
			text = strings.TrimSuffix(number, ")")
		}
		text, _, _ = strings.Cut(text, " ")
	case "Gauge32", "Counter32", "Counter64":
		text, _, _ = strings.Cut(text, " ")
	}
	tag, ok := walkTypes[w.kind]
	if !ok {
		return nil // No Such Object, No more variables, and types that no table of ours has
	}
	content, err := recorded(tag, text)
	if err != nil {
		return fmt.Errorf("%s: %w", w.id, err)
	}
	t.add(w.id, tag, content)
	return nil
}

var walkTypes = map[string]byte{
	"INTEGER": Integer, "OID": ObjectIdentifier, "IpAddress": IPAddress, "Counter32": Counter32, "Gauge32": Gauge32,
	"Timeticks": TimeTicks, "Counter64": Counter64,
}
