package agentsim

import (
	"fmt"
	"slices"
	"sort"

	"whichlink/probes/snmp/ber"
)

// A Tree is what an agent serves: values by OID. It is not safe for concurrent use; [Agent.Change] changes the tree of a running agent.
type Tree struct {
	rows   []row
	sorted bool
}

// A row is one instance, ready to be sent.
type row struct {
	id      oid
	tag     byte
	content []byte
	// encoded is the variable binding: a sequence of name and value.
	encoded []byte
}

func makeRow(id oid, tag byte, content []byte) row {
	name := appendTLV(nil, ber.ObjectIdentifier, oidContent(id))
	value := appendTLV(nil, tag, content)
	return row{id, tag, content, append(ber.AppendHead(nil, ber.Sequence, len(name)+len(value)), append(name, value...)...)}
}

func (t *Tree) add(id oid, tag byte, content []byte) {
	t.rows = append(t.rows, makeRow(id, tag, content))
	t.sorted = false
}

// sort puts the rows in order. Of rows with the same OID the last counts.
func (t *Tree) sort() {
	if t.sorted {
		return
	}
	slices.SortStableFunc(t.rows, func(a, b row) int { return slices.Compare(a.id, b.id) })
	kept := t.rows[:0]
	for i := range t.rows {
		if n := len(kept); n > 0 && slices.Equal(kept[n-1].id, t.rows[i].id) {
			kept[n-1] = t.rows[i]
		} else {
			kept = append(kept, t.rows[i])
		}
	}
	t.rows, t.sorted = kept, true
}

// at returns where an OID stands or would stand.
func (t *Tree) at(id oid) (int, bool) {
	t.sort()
	i := sort.Search(len(t.rows), func(i int) bool { return slices.Compare(t.rows[i].id, id) >= 0 })
	return i, i < len(t.rows) && slices.Equal(t.rows[i].id, id)
}

// Len is the number of values.
func (t *Tree) Len() int { t.sort(); return len(t.rows) }

// Clone returns a tree that can be changed without changing t.
func (t *Tree) Clone() *Tree {
	t.sort()
	return &Tree{slices.Clone(t.rows), true}
}

// Set sets an instance: a number for the types that are numbers (int, uint64), else a string; an ObjectIdentifier in dotted form. It panics
// where the arguments make no sense, as tests that do so are wrong.
func (t *Tree) Set(id string, tag byte, value any) {
	o, err := parseOID(id)
	if err != nil {
		panic(err)
	}
	content, err := contentOf(tag, value)
	if err != nil {
		panic(fmt.Errorf("%s: %w", id, err))
	}
	if i, ok := t.at(o); ok {
		t.rows[i] = makeRow(o, tag, content)
		return
	}
	t.add(o, tag, content)
}

func contentOf(tag byte, value any) ([]byte, error) {
	switch v := value.(type) {
	case int:
		if v >= 0 && tag != ber.Integer {
			return unsignedContent(uint64(v)), nil
		}
		return signedContent(int64(v)), nil
	case uint64:
		return unsignedContent(v), nil
	case string:
		if tag != ber.ObjectIdentifier {
			return []byte(v), nil
		}
		o, err := parseOID(v)
		if err != nil {
			return nil, err
		}
		return oidContent(o), nil
	}
	return nil, fmt.Errorf("a %T is no value of type %#x", value, tag)
}

// Delete removes an instance, or all below an OID.
func (t *Tree) Delete(prefix string) {
	o, err := parseOID(prefix)
	if err != nil {
		panic(err)
	}
	t.sort()
	t.rows = slices.DeleteFunc(t.rows, func(r row) bool { return under(r.id, o) })
}

// Number is the value of an instance that is a number; false if there is none.
func (t *Tree) Number(id string) (uint64, bool) {
	o, err := parseOID(id)
	if err != nil {
		return 0, false
	}
	i, ok := t.at(o)
	if !ok || t.rows[i].tag == ber.OctetString || t.rows[i].tag == ber.ObjectIdentifier || len(t.rows[i].content) == 0 {
		return 0, false
	}
	n := uint64(int64(int8(t.rows[i].content[0])))
	for _, c := range t.rows[i].content[1:] {
		n = n<<8 | uint64(c)
	}
	return n, true
}

// Each calls f with the last part of the index and the octets of each instance below an OID, in order.
func (t *Tree) Each(prefix string, f func(index uint32, content []byte)) {
	o, err := parseOID(prefix)
	if err != nil {
		panic(err)
	}
	i, _ := t.at(o)
	for ; i < len(t.rows) && under(t.rows[i].id, o); i++ {
		f(t.rows[i].id[len(t.rows[i].id)-1], t.rows[i].content)
	}
}

func under(id, prefix oid) bool {
	return len(id) >= len(prefix) && slices.Equal(id[:len(prefix)], prefix)
}

// Move gives instances other OIDs: f returns that of an instance, or nil to leave it out. Of those that become the same the last counts.
func (t *Tree) Move(f func(id []uint32) []uint32) {
	t.sort()
	rows := t.rows
	*t = Tree{}
	for _, r := range rows {
		if id := f(slices.Clone(r.id)); id != nil {
			t.add(id, r.tag, r.content)
		}
	}
	t.sort()
}
