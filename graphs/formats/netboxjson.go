package formats

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"whichlink/graphs"
)

// Answers of NetBox's GraphQL interface, {"data": {"cable_list": [...], "device_list": [...]}}, and lists of its REST interface.

func isNetboxJSON(text []byte) bool {
	return beginsJSON(text) && (bytes.Contains(text, []byte(`"a_terminations"`)) || bytes.Contains(text, []byte(`"device_list"`)))
}

func readNetboxJSON(f *File, name string, from []source) error {
	b := newNetbox()
	for _, file := range from {
		root, err := parseJSON(file)
		if err == nil {
			err = b.readRoot(root, file)
		}
		if err != nil {
			return inFile(file, err)
		}
	}
	return b.build(f, name)
}

// inFile gives an error the file in which it is.
func inFile(s source, err error) error {
	var at *Error
	if errors.As(err, &at) && at.File == "" {
		at.File = s.name
	}
	return err
}

func (b *netbox) readRoot(root *yaml.Node, file source) error {
	if root.Kind == yaml.SequenceNode {
		return b.readList(root.Content, "", file)
	}
	m, err := asMapping(root, "the file")
	if err != nil {
		return err
	}
	if m.get("errors") != nil && m.get("data") == nil {
		return at(m.get("errors"), "an answer with errors and without data")
	}
	if m.get("data") != nil {
		if m, err = m.child("data", ""); err != nil {
			return err
		}
	}
	for _, key := range []string{"device_list", "devices", "cable_list", "cables", "results"} {
		list, err := m.list(key, "")
		if err != nil {
			return err
		}
		if err := b.readList(list, key, file); err != nil {
			return err
		}
	}
	return nil
}

// readList reads a list whose elements are cables or devices, which their keys tell.
func (b *netbox) readList(list []*yaml.Node, key string, file source) error {
	for i, n := range list {
		what := fmt.Sprintf("%s[%d]", key, i)
		m, err := asMapping(n, what)
		switch {
		case err != nil:
			return err
		case m.get("a_terminations", "b_terminations") != nil:
			err = b.readJSONCable(&m, what, file)
		case m.get("role", "device_role", "device_type", "primary_ip4") != nil:
			err = b.readJSONDevice(&m, what, place{file.name, n.Line})
		case m.get("a_terminations") == nil && strings.HasPrefix(key, "cable"):
			b.left.add("cables without terminations")
		default:
			b.left.add("elements that are neither cables nor devices")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *netbox) readJSONDevice(m *mapping, what string, where place) error {
	d := netboxDevice{at: where}
	var err error
	if d.node.Name, err = m.word("name", what); err != nil {
		return err
	}
	if d.node.Name == "" {
		b.left.add("devices without a name")
		return nil
	}
	for _, key := range []string{"device_role", "role"} {
		role, err := named(m, key, what, "name", "slug", "value")
		if err != nil {
			return err
		}
		if role != "" {
			d.node.Role = roleOfDevice(role)
		}
	}
	for _, key := range []string{"primary_ip6", "primary_ip4"} {
		word, err := named(m, key, what, "address")
		if err != nil {
			return err
		}
		if word == "" {
			continue
		}
		if d.node.Management, err = parseAddress(word); err != nil {
			return at(m.get(key), "%s.%s: %w", what, key, err)
		}
	}
	b.told = append(b.told, d)
	return nil
}

// named returns what stands at a key: a word, or a mapping that has the word at one of some keys of its own.
func named(m *mapping, key, what string, keys ...string) (string, error) {
	n := m.get(key)
	if n == nil || n.Kind == yaml.ScalarNode {
		return m.word(key, what)
	}
	inner, err := m.child(key, what)
	if err != nil {
		return "", err
	}
	for _, k := range keys {
		if word, err := inner.word(k, join(what, key)); word != "" || err != nil {
			return word, err
		}
	}
	return "", nil
}

// jsonEnd is one element of a cable's list of terminations.
type jsonEnd struct {
	termination
	speed graphs.BitsPerSecond
}

func (b *netbox) readJSONCable(m *mapping, what string, file source) error {
	var sides [2][]jsonEnd
	for i, key := range []string{"a_terminations", "b_terminations"} {
		list, err := m.list(key, what)
		if err != nil {
			return err
		}
		for k, n := range list {
			e, err := b.readTermination(n, fmt.Sprintf("%s.%s[%d]", what, key, k))
			if err != nil {
				return err
			}
			sides[i] = append(sides[i], e)
		}
	}
	group, err := cableName(m, what)
	if err != nil {
		return err
	}
	strands := pairUp(sides[0], sides[1])
	if len(strands) == 0 {
		b.left.add("cables with an end that goes nowhere, or whose ends cannot be matched")
		return nil
	}
	for _, s := range strands {
		s.at = place{file.name, m.node.Line}
		if len(strands) > 1 {
			s.group = group
		}
		b.cable(s)
	}
	return nil
}

// cableName is the name of the shared-risk group that the lanes of one cable make.
func cableName(m *mapping, what string) (string, error) {
	for _, key := range []string{"label", "id"} {
		if word, err := m.word(key, what); err != nil || word != "" {
			return "cable " + graphs.Clean(word), err
		}
	}
	return "cable in line " + strconv.Itoa(m.node.Line), nil
}

// pairUp matches the terminations of a cable's two sides: in their order, or, for a breakout, as many of the longer side to each of the
// shorter. It returns nothing where that does not come out even.
func pairUp(a, z []jsonEnd) []strand {
	long := max(len(a), len(z))
	if len(a) == 0 || len(z) == 0 || long%len(a) != 0 || long%len(z) != 0 {
		return nil
	}
	strands := make([]strand, long)
	for i := range strands {
		for side, ends := range [][]jsonEnd{a, z} {
			each := long / len(ends)
			e := ends[i/each]
			strands[i].ends[side] = e.termination
			if each > 1 && e.kind == anInterface {
				strands[i].lane[side] = i%each + 1
			}
			// The speed of a port that is broken out is not that of its lanes.
			if s := &strands[i].speed; each == 1 && e.speed != 0 && (*s == 0 || e.speed < *s) {
				*s = e.speed
			}
		}
	}
	return strands
}

func (b *netbox) readTermination(n *yaml.Node, what string) (jsonEnd, error) {
	var e jsonEnd
	m, err := asMapping(n, what)
	if err != nil {
		return e, err
	}
	kind, err := m.word("__typename", what)
	if err != nil {
		return e, err
	}
	if kind == "" {
		if kind, err = m.word("object_type", what); err != nil {
			return e, err
		}
	}
	e.kind = terminationKind(kind)
	if m.get("object") != nil {
		what += ".object"
		if m, err = m.child("object", what); err != nil {
			return e, err
		}
	}
	if e.name, err = m.word("name", what); err != nil {
		return e, err
	}
	if e.device, err = named(&m, "device", what, "name"); err != nil {
		return e, err
	}
	if e.kind == anInterface && (e.name == "" || e.device == "") {
		return e, at(n, "%s has no name or no device.name: the query must ask for them", what)
	}
	if rear, err := named(&m, "rear_port", what, "name"); err != nil {
		return e, err
	} else if rear != "" {
		word, err := m.word("rear_port_position", what)
		if err != nil {
			return e, err
		}
		number, err := strconv.Atoi(word)
		if err != nil {
			number = 1
		}
		b.plant.leads(e.termination, position{termination{e.device, aRearPort, rear}, number})
	}
	e.speed, err = interfaceSpeed(&m, what)
	return e, err
}

// portType finds the speed in the type of an interface: 100gbase-x-qsfp28, 1000base-t, A_25GBASE_X_SFP28.
var portType = regexp.MustCompile(`(?i)([0-9.]+)(g?)base`)

// interfaceSpeed is the speed of an interface, which NetBox counts in kbit/s, else that of its type; 0 if neither is there.
func interfaceSpeed(m *mapping, what string) (graphs.BitsPerSecond, error) {
	word, err := m.word("speed", what)
	if err != nil {
		return 0, err
	}
	if word != "" {
		speed, err := ParseSpeed(word + "K")
		if err != nil {
			return 0, at(m.get("speed"), "%s.speed is %q, expected kbit/s", what, graphs.Clean(word))
		}
		return speed, nil
	}
	kind, err := named(m, "type", what, "value")
	found := portType.FindStringSubmatch(kind)
	if err != nil || found == nil {
		return 0, err
	}
	unit := "M"
	if found[2] != "" {
		unit = "G"
	}
	speed, _ := ParseSpeed(found[1] + unit)
	return speed, nil
}
