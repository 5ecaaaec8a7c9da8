package tui

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"whichlink/graphs"
	"whichlink/graphs/formats"
)

// awkward is a triangle of switches whose names mean something to Graphviz, to XML or to C.
func awkward(tb testing.TB) *graphs.Fabric {
	var b graphs.Builder
	b.Name = `fabric "quoted" \N`
	var nodes []graphs.NodeID
	for _, name := range []string{`a"b\`, `graph`, `x -- y [color=red]; {`, `<b & \n`, `Übertragung`} {
		n, err := b.AddNode(graphs.Node{Name: name})
		if err != nil {
			tb.Fatal(err)
		}
		nodes = append(nodes, n)
	}
	for i, n := range nodes {
		if _, err := b.AddLink(graphs.End{Node: n, Port: fmt.Sprintf(`p"%d\`, i)}, graphs.End{Node: nodes[(i+1)%len(nodes)], Port: "in"}, 1e9); err != nil {
			tb.Fatal(err)
		}
	}
	f, err := b.Build()
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

// The map is written so that Graphviz takes it without a word, with every switch by its name and every link, whatever the names are.
func TestMapAsDOT(t *testing.T) {
	for name, s := range map[string]*Snapshot{"leafspine": sick(t), "random": randomGraph(t), "awkward": on(t, awkward(t), 1)} {
		t.Run(name, func(t *testing.T) {
			stage := newStage(t, s, 120, 40)
			stage.press("2")
			m := stage.top().(*mapScreen)
			text := m.dot(s)
			var links, switches int
			for n := range graphs.NodeID(s.Fabric.NumNodes()) {
				if !s.Fabric.Node(n).IsHost() {
					switches++
				}
			}
			for id := range graphs.LinkID(s.Fabric.NumLinks()) {
				if !s.Fabric.IsHostArc(id.Forward()) {
					links++
				}
			}
			if n := bytes.Count(text, []byte(" -- ")) - bytes.Count(text, []byte("x -- y")); n != links {
				t.Errorf("%d edges, want %d", n, links)
			}
			if !bytes.Contains(text, []byte("red3")) {
				t.Error("the suspect is not to be seen")
			}
			if name != "awkward" { // of other names a fabric could not be read
				if read, err := formats.Read(bytes.NewReader(text), "map.dot"); err != nil || read.Fabric.NumLinks() != links || read.Fabric.NumNodes() != switches {
					t.Errorf("cannot be read again: %v", err)
				}
			}
			dot, err := exec.LookPath("dot")
			if err != nil {
				t.Skip("no Graphviz here")
			}
			cmd := exec.Command(dot, "-Tsvg")
			var svg, says bytes.Buffer
			cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(text), &svg, &says
			if err := cmd.Run(); err != nil || says.Len() > 0 {
				t.Fatalf("dot: %v: %s", err, says.String())
			}
			texts := svgTexts(t, &svg)
			for n := range graphs.NodeID(s.Fabric.NumNodes()) {
				if want := s.Fabric.NodeName(n); !s.Fabric.Node(n).IsHost() && !slices.Contains(texts, want) {
					t.Errorf("no %q among %q", want, texts)
				}
			}
		})
	}
}

func svgTexts(t *testing.T, r io.Reader) (texts []string) {
	d := xml.NewDecoder(r)
	d.Strict = false
	for in := false; ; {
		token, err := d.Token()
		if err == io.EOF {
			return texts
		}
		if err != nil {
			t.Fatal(err)
		}
		switch x := token.(type) {
		case xml.StartElement:
			in = x.Name.Local == "text"
		case xml.CharData:
			if in {
				texts = append(texts, strings.ReplaceAll(string(x), "\u00a0", " "))
			}
		}
	}
}
