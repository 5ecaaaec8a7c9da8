package formats

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"whichlink/graphs"
)

// slurm is a tree as Slurm's topology.conf and topology.yaml tell of it: switches, and what hangs on them. It has one link a pair, whatever
// cables there are, and no ports.
type slurm struct {
	sketch   *sketch
	list     hostlist
	isSwitch map[string]bool
	linked   map[[2]string]bool
}

func newSlurm() *slurm {
	return &slurm{sketch: newSketch(), list: hostlist{maxNames}, isSwitch: map[string]bool{}, linked: map[[2]string]bool{}}
}

// tree adds a switch with the switches and the nodes below it.
func (s *slurm) tree(name, switches, nodes string, at place) error {
	if name == "" {
		return &Error{at.file, at.line, errors.New("a switch without a name")}
	}
	if err := s.node(name, true, at); err != nil {
		return err
	}
	for i, list := range []string{switches, nodes} {
		below, err := s.list.expand(list)
		if err != nil {
			return &Error{at.file, at.line, err}
		}
		for _, child := range below {
			if child == name {
				return &Error{at.file, at.line, fmt.Errorf("switch %q is below itself", graphs.Clean(name))}
			}
			if err := s.node(child, i == 0, at); err != nil {
				return err
			}
			pair := [2]string{min(name, child), max(name, child)}
			if s.linked[pair] {
				continue
			}
			s.linked[pair] = true
			if err := s.sketch.add(cable{ends: [2]socket{{node: name}, {node: child}}, file: at.file, line: at.line}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *slurm) node(name string, isSwitch bool, at place) error {
	was, known := s.isSwitch[name]
	if known && was != isSwitch {
		return &Error{at.file, at.line, fmt.Errorf("%q is a switch and a node", graphs.Clean(name))}
	}
	s.isSwitch[name] = isSwitch
	if n := s.sketch.nodeAt(name, at); isSwitch {
		setSwitch(n)
	} else {
		n.Role = graphs.RoleHost
	}
	return nil
}

func (s *slurm) build(f *File, name string) error {
	if err := s.sketch.build(f, name); err != nil {
		return err
	}
	f.note("Slurm tells of a tree: one link for each switch or node below a switch, however many cables there are")
	return nil
}

var slurmLine = regexp.MustCompile(`(?im)^[ \t]*SwitchName[ \t]*=`)

func isSlurm(text []byte) bool {
	return slurmLine.Match(text) && !clabKey.Match(text) || bytes.HasPrefix(firstLine(text), []byte("-")) && slurmEntry.Match(text)
}

func readSlurm(f *File, name string, from []source) error {
	if slurmEntry.Match(from[0].text) {
		return one(f, name, from, readSlurmYAML)
	}
	return readSlurmConf(f, name, from)
}

// readSlurmConf reads topology.conf(5).
func readSlurmConf(f *File, name string, from []source) error {
	s := newSlurm()
	speeds := 0
	for _, file := range from {
		number, start, joined := 0, 0, ""
		for line := range bytes.Lines(file.text) {
			number++
			if joined == "" {
				start = number
			}
			text, _, _ := strings.Cut(string(line), "#")
			text = strings.TrimSpace(text)
			if more, ok := strings.CutSuffix(text, `\`); ok {
				joined += more + " "
				continue
			}
			fields, err := slurmFields(joined + text)
			joined = ""
			at := place{file.name, start}
			switch {
			case err != nil:
				return &Error{at.file, at.line, err}
			case len(fields) == 0:
				continue
			}
			if fields["linkspeed"] != "" {
				speeds++
			}
			if err := s.tree(fields["switchname"], fields["switches"], fields["nodes"], at); err != nil {
				return err
			}
		}
	}
	if err := s.build(f, name); err != nil {
		return err
	}
	if speeds > 0 {
		f.note("LinkSpeed, in %d lines, has no unit in Slurm: passed over", speeds)
	}
	return nil
}

// slurmFields cuts a line into its Key=Value, by the keys in lower case.
func slurmFields(line string) (map[string]string, error) {
	fields := map[string]string{}
	for _, word := range strings.Fields(line) {
		key, value, ok := strings.Cut(word, "=")
		key = strings.ToLower(key)
		switch {
		case !ok:
			return nil, fmt.Errorf("%q, expected Key=Value such as SwitchName=s1 Nodes=n[1-8]", graphs.Clean(word))
		case key == "blockname" || key == "blocksizes":
			return nil, errors.New("a topology of blocks tells of no switches and cannot be read, expected a tree: SwitchName, Switches, Nodes")
		case key != "switchname" && key != "switches" && key != "nodes" && key != "linkspeed":
			return nil, fmt.Errorf("key %q, expected SwitchName, Switches, Nodes or LinkSpeed", graphs.Clean(key))
		}
		fields[key] = value
	}
	return fields, nil
}

var slurmEntry = regexp.MustCompile(`(?m)^[ \t]*-[ \t]*\{?[ \t]*["']?topology["']?[ \t]*:`)

// readSlurmYAML reads topology.yaml(5): a list of topologies, of which it takes the tree that is the default of the cluster, else the first.
func readSlurmYAML(f *File, name string) error {
	root, _, err := parse(f.text)
	if err != nil {
		return err
	}
	if root.Kind != yaml.SequenceNode {
		return at(root, "the file is %s, expected a list of topologies", kindOf(root))
	}
	var chosen mapping
	var others []string
	isDefault := false
	for i, n := range root.Content {
		m, err := asMapping(n, fmt.Sprintf("[%d]", i))
		if err != nil {
			return err
		}
		title, err := m.word("topology", fmt.Sprintf("[%d]", i))
		if err != nil {
			return err
		}
		word, err := m.word("cluster_default", "topology "+graphs.Clean(title))
		if err != nil {
			return err
		}
		first := word == "true" && !isDefault
		if m.get("tree") == nil || chosen.node != nil && !first {
			others = append(others, graphs.Clean(title))
			continue
		}
		if chosen.node != nil {
			was, _ := chosen.word("topology", "")
			others = append(others, graphs.Clean(was))
		}
		chosen, isDefault = m, first
	}
	if chosen.node == nil {
		return at(root, "no topology of the form tree; other forms (%s) tell of no switches and cannot be read", "block, flat, ring, torus3d")
	}
	return chosen.readSlurmTree(f, name, others)
}

func (m *mapping) readSlurmTree(f *File, name string, others []string) error {
	if title, _ := m.word("topology", ""); title != "" {
		name = graphs.Clean(title)
	}
	tree, err := m.child("tree", "")
	if err != nil {
		return err
	}
	switches, err := tree.list("switches", "tree")
	if err != nil {
		return err
	}
	s := newSlurm()
	for i, n := range switches {
		what := fmt.Sprintf("tree.switches[%d]", i)
		x, err := asMapping(n, what)
		if err != nil {
			return err
		}
		var words [3]string
		for k, key := range []string{"switch", "children", "nodes"} {
			if words[k], err = x.word(key, what); err != nil {
				return err
			}
		}
		if err := s.tree(words[0], words[1], words[2], place{"", n.Line}); err != nil {
			return err
		}
	}
	if err := s.build(f, name); err != nil {
		return err
	}
	if len(others) > 0 {
		f.note("other topologies in the file: %s: passed over", few(others))
	}
	return nil
}
