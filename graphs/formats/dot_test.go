package formats

import (
	"strings"
	"testing"

	"whichlink/graphs"
)

func TestWriteDOT(t *testing.T) {
	var b graphs.Builder
	for _, n := range []graphs.Node{{Name: `say "hi" -- \`, Role: "tor"}, {Name: "b", Role: "tor"}, {Name: "h", Role: graphs.RoleHost}} {
		if _, err := b.AddNode(n); err != nil {
			t.Fatal(err)
		}
	}
	for i, port := range []string{"1", `2"`} {
		if _, err := b.AddLink(graphs.End{Node: 0, Port: port}, graphs.End{Node: 1, Port: port}, 0); err != nil {
			t.Fatal(i, err)
		}
	}
	if _, err := b.AddLink(graphs.End{Node: 2, Port: "e"}, graphs.End{Node: 1, Port: "e"}, 0); err != nil {
		t.Fatal(err)
	}
	f, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	const want = `strict graph {
	"b" [ class="tor", shape="ellipse",  weight=0 ];
	"h" [ class="host", shape="box",  weight=0 ];
	"say \"hi\" -- \\" [ class="tor", shape="ellipse",  weight=0 ];
	"b" -- "h" [ label="e--e",  weight=1 ];
	"b" -- "say \"hi\" -- \\" [ label="1--1 and 1 more",  weight=2 ];
}
`
	var got strings.Builder
	if err := WriteDOT(&got, f); err != nil {
		t.Fatal(err)
	}
	if got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
}
