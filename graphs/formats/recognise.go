package formats

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"whichlink/graphs"
)

// about says in a few words what the files of a format are, for those whose file is none of them.
var about = map[string]string{
	"lldp":          "neighbours from lldpctl (json, json0, keyvalue, xml, text), EOS, NX-OS, Junos or SuzieQ",
	"dot":           "topology.dot of Cumulus PTM or NVIDIA Air, or another graph of Graphviz",
	"air":           "NVIDIA Air JSON with nodes and links",
	"batfish":       "Batfish layer1_topology.json with edges",
	"netbox":        "cables and devices of NetBox as CSV or JSON",
	"sonic":         "SONiC links and devices CSV, or minigraph XML",
	"graphml":       "GraphML",
	"rfc8345":       "JSON of ietf-network-topology",
	"netjson":       "NetJSON NetworkGraph",
	"ibnetdiscover": "output of ibnetdiscover",
	"slurm":         "topology.conf or topology.yaml of Slurm",
	"csv":           "cables as CSV with a head",
	"edgelist":      "a link \"u v\" or \"u->v\" a line",
	"containerlab":  "YAML with topology.nodes and topology.links",
}

// recognise finds the format of files that belong together: the first that takes all of them.
func recognise(from []source) (*format, error) {
	for i := range known {
		if !slices.ContainsFunc(from, func(s source) bool { return !known[i].is(s.text) }) {
			return &known[i], nil
		}
	}
	var each []string
	for _, s := range from {
		at := slices.IndexFunc(known, func(k format) bool { return k.is(s.text) })
		if at < 0 {
			return nil, &Error{s.name, 0, unknown(s.text)}
		}
		each = append(each, s.name+" is "+known[at].name)
	}
	return nil, fmt.Errorf("the files are of different formats: %s", few(each))
}

// unknown says of a text that no format takes what it seems to be, and what was expected.
func unknown(text []byte) error {
	trimmed := bytes.TrimSpace(text)
	if len(trimmed) == 0 {
		return errors.New("the file is empty")
	}
	expected := "expected one of:"
	for i, name := range Names() {
		if i > 0 {
			expected += ";"
		}
		expected += " " + name
		if about[name] != "" {
			expected += " (" + about[name] + ")"
		}
	}
	var seems string
	switch keys := topLevel(text); {
	case keys != nil:
		seems = "JSON with the keys " + few(cleaned(slices.Sorted(maps.Keys(keys))))
	case trimmed[0] == '{' || trimmed[0] == '[':
		seems = "JSON without keys, or broken in its first lines"
	case trimmed[0] == '<':
		seems = "XML, or HTML"
	case bytes.IndexByte(text[:min(len(text), 4096)], 0) >= 0:
		seems = "a binary file"
	default:
		seems = "the file holds nothing but comments"
		if line := firstLine(text); len(line) > 0 {
			seems = fmt.Sprintf("no known format, beginning with %q", graphs.Clean(string(line[:min(len(line), 60)])))
		}
	}
	return fmt.Errorf("%s; %s", seems, expected)
}

// firstLine is the first line that is neither blank nor a comment nor the mark before a YAML document.
func firstLine(text []byte) []byte {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' && !bytes.Equal(line, []byte("---")) {
			return line
		}
	}
	return nil
}

// clabKey is a key of containerlab at the beginning of a line, or of a mapping in braces.
var clabKey = regexp.MustCompile(`(?m)^\{?["']?(name|topology|prefix|mgmt)["']?[ \t]*:(\s|$)`)

// isClab recognises containerlab's YAML, also where it is written as JSON or is a template, whose reader says what to do about it.
func isClab(text []byte) bool {
	if keys := topLevel(text); len(keys) > 0 {
		_, ok := keys["topology"]
		return ok
	}
	return clabKey.Match(text)
}
