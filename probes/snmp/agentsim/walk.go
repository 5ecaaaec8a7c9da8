package agentsim

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"whichlink/probes/snmp/ber"
)

// A walk reads what snmpwalk printed, line by line.
type walk struct {
	tree *Tree
	// between stands between OID and value: " = ", or a blank where it was told to be quick (-Oq).
	between string
	open    *walked
}

// A walked is a value of which more lines may follow: text and hex go on over the end of a line.
type walked struct {
	id   oid
	kind string // empty if it is not told (-OQ)
	text string
}

// line reads one line.
func (w *walk) line(line string) error {
	name, value, ok := strings.Cut(line, w.between)
	if !ok && w.between != " " {
		name, ok = strings.CutSuffix(line, strings.TrimRight(w.between, " "))
		name = strings.TrimRight(name, " ")
	}
	// Between quotes a line may look like another value; one that truly is follows in order.
	if id, is := walkedOID(name); ok && is && !(w.open != nil && w.open.quoted() && !w.open.complete() && slices.Compare(id, w.open.id) < 0) {
		err := w.close()
		kind, text := typeOf(value)
		w.open = &walked{id, kind, text}
		return err
	}
	switch {
	case w.open != nil && !w.open.complete() && !complaint(line):
		w.open.text += "\n" + line
	case w.open == nil && strings.TrimSpace(line) != "" && !complaint(line):
		return fmt.Errorf("%q is not OID = TYPE: VALUE", clip(line))
	}
	return nil
}

// roots are the names of what OIDs begin with.
var roots = strings.NewReplacer("joint-iso-ccitt.", "2.", "ccitt.", "0.", "iso.", "1.")

// walkedOID reads an OID that may lack the leading dot or begin with a name. Numbers with one dot between them are none, but for a dot before them.
func walkedOID(name string) (oid, bool) {
	if name == "" || name[0] >= '0' && name[0] <= '9' && strings.Count(name, ".") < 2 {
		return nil, false
	}
	rest := strings.TrimPrefix(name, ".")
	if rest != "" && rest[0] >= 'a' {
		rest = roots.Replace(rest)
	}
	id, err := parseOID(rest)
	return id, err == nil
}

// complaint reports whether a line is what the tool itself has to say.
func complaint(line string) bool {
	for _, word := range []string{"Timeout: No Response", "Error in packet", "Error: OID not increasing", "Reason: ", "Failed object: ", "snmpwalk: ", "snmpbulkwalk: "} {
		if strings.HasPrefix(line, word) {
			return true
		}
	}
	return false
}

// typeOf parts type and value. A type that the MIB calls wrong is what the agent sent.
func typeOf(value string) (kind, text string) {
	if strings.HasPrefix(value, "Wrong Type (should be ") {
		_, value, _ = strings.Cut(value, "): ")
	}
	kind, text, typed := strings.Cut(value, ": ")
	if !typed {
		kind, text = strings.TrimSuffix(value, ":"), ""
	}
	if _, known := walkTypes[kind]; known || texts[kind] {
		return kind, text
	}
	return "", value
}

// texts are the types whose values may take more than one line.
var texts = map[string]bool{"STRING": true, "Hex-STRING": true, "BITS": true, "Opaque": true, "NULL": true}

var walkTypes = map[string]byte{
	"INTEGER": ber.Integer, "OID": ber.ObjectIdentifier, "IpAddress": IPAddress, "Network Address": IPAddress, "Counter32": Counter32, "Gauge32": Gauge32, "Unsigned32": Gauge32,
	"UInteger32": Gauge32, "Timeticks": TimeTicks, "Counter64": Counter64,
}

// quoted reports whether it is a text in quotes.
func (v *walked) quoted() bool {
	return (v.kind == "STRING" || v.kind == "") && strings.HasPrefix(strings.TrimSpace(v.text), `"`)
}

// complete reports whether no more lines can follow.
func (v *walked) complete() bool {
	if v.kind != "" && !texts[v.kind] {
		return true
	}
	if !v.quoted() {
		return false
	}
	body := strings.TrimSpace(v.text)[1:]
	return strings.HasSuffix(body, `"`) && (len(body)-len(strings.TrimRight(body[:len(body)-1], `\`)))%2 == 1
}

// close adds the open value to the tree.
func (w *walk) close() error {
	v := w.open
	if w.open = nil; v == nil {
		return nil
	}
	tag, content, err := v.read()
	if err != nil {
		return fmt.Errorf("%s: %w", v.id, err)
	}
	if tag != 0 {
		w.tree.add(v.id, tag, content)
	}
	return nil
}

// read returns type and content; type 0 for what is not there, or of a type that no table of ours has.
func (v *walked) read() (tag byte, content []byte, err error) {
	text := strings.TrimSpace(v.text)
	switch v.kind {
	case "":
		return guess(text)
	case "STRING":
		return ber.OctetString, unquote(text), nil
	case "Hex-STRING", "BITS":
		raw, _ := hexOf(text)
		return ber.OctetString, raw, nil
	case "Opaque", "NULL":
		return 0, nil, nil
	case "Timeticks":
		n, ok := ticksOf(text)
		if !ok {
			return 0, nil, fmt.Errorf("%q is no time", clip(text))
		}
		return TimeTicks, unsignedContent(n), nil
	case "OID":
		if id, ok := walkedOID(text); ok {
			return ber.ObjectIdentifier, oidContent(id), nil
		}
	case "INTEGER": // up(1), or 30 seconds
		if _, number, ok := strings.Cut(text, "("); ok {
			text = strings.TrimSuffix(number, ")")
		}
		text, _, _ = strings.Cut(text, " ")
	case "Network Address":
		raw, _ := hexOf(strings.ReplaceAll(text, ":", " "))
		return IPAddress, raw, nil
	case "Gauge32", "Unsigned32", "UInteger32", "Counter32", "Counter64":
		text, _, _ = strings.Cut(text, " ")
	}
	tag = walkTypes[v.kind]
	content, err = recorded(tag, text)
	return tag, content, err
}

func unquote(text string) []byte {
	s := strings.TrimSuffix(strings.TrimPrefix(text, `"`), `"`)
	return []byte(strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(s))
}

// hexOf reads octets in hex. What follows them in a line is the same as text (-OT), or the names of bits. Whole is whether nothing does.
func hexOf(text string) (raw []byte, whole bool) {
	whole = text != ""
	for line := range strings.Lines(text) {
		for field := range strings.FieldsSeq(line) {
			b, err := hex.DecodeString(field)
			if err != nil || len(b) != 1 {
				whole = false
				break
			}
			raw = append(raw, b...)
		}
	}
	return raw, whole
}

// ticksOf reads (17) 0:00:00.17, 17 (-Ot), and 0:0:00:00.17 (-OQ).
func ticksOf(text string) (uint64, bool) {
	if rest, ok := strings.CutPrefix(text, "("); ok {
		text, _, _ = strings.Cut(rest, ")")
	}
	if n, err := strconv.ParseUint(text, 10, 32); err == nil {
		return n, true
	}
	parts := strings.Split(strings.Replace(text, ".", ":", 1), ":")
	if len(parts) != 5 {
		return 0, false
	}
	var n uint64
	for i, unit := range []uint64{8_640_000, 360_000, 6_000, 100, 1} {
		x, err := strconv.ParseUint(parts[i], 10, 32)
		if err != nil {
			return 0, false
		}
		n += x * unit
	}
	return n, n < 1<<32
}

// guess reads a value whose type is not told (-OQ, -Oq).
func guess(text string) (tag byte, content []byte, err error) {
	if strings.HasPrefix(text, "No Such ") || strings.HasPrefix(text, "No more variables") || text == "NULL" {
		return 0, nil, nil
	}
	if strings.HasPrefix(text, `"`) {
		if raw, whole := hexOf(strings.Trim(text, `"`)); whole && strings.HasSuffix(text, ` "`) {
			return ber.OctetString, raw, nil
		}
		return ber.OctetString, unquote(text), nil
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n < 1<<31 {
		return ber.Integer, signedContent(n), nil
	}
	if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		if n < 1<<32 {
			return Gauge32, unsignedContent(n), nil
		}
		return Counter64, unsignedContent(n), nil
	}
	if a, err := netip.ParseAddr(text); err == nil && a.Is4() {
		return IPAddress, a.AsSlice(), nil
	}
	if id, ok := walkedOID(text); ok {
		return ber.ObjectIdentifier, oidContent(id), nil
	}
	if n, ok := ticksOf(text); ok {
		return TimeTicks, unsignedContent(n), nil
	}
	return ber.OctetString, unquote(text), nil
}
