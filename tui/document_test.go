package tui

import (
	"flag"
	"os"
	"strings"
	"testing"
)

// docs/screens.md shows every screen as the tests draw it, so that it cannot say what is not so. -update writes it anew.
func TestScreensDocument(t *testing.T) {
	const file = "../docs/screens.md"
	var b strings.Builder
	b.WriteString("# The screens\n\nMade from the pictures by which the program is tested, at 100 columns and 30 rows, with invented data;\n" +
		"`go test ./tui -update` makes them anew. The smallest terminal that shows the ranked list has 40 by 10.\n")
	for _, x := range []struct{ scene, title, says string }{
		{"Overview", "1 Overview", "The verdict, how much of the fabric it rests on, the ranked suspects, and the proof of the one under the cursor."},
		{"Link", "A link", "Opened with enter from any screen: what is said of it, loss and delay in both directions, when it went down, and every flow that crosses it."},
		{"Counters", "A link, its counters", "`tab` turns to what the ports at both ends counted: errors, discards, use against their speed and against what is expected; and to the light of their transceivers, lane by lane, held against what it was and against what the other end sends. `J` and `K` scroll. Tall terminals show both."},
		{"Explain", "Why", "`:explain` says of the suspect under the cursor, or of what is named behind it, what the claim means, what speaks for it and against it, what else it may be and what would change it. `y` copies all of it."},
		{"MapLeafSpine", "2 Map, leaf and spine", "A cell is a link. `L` turns to loss, use, use over what is expected, delay, flaps, coverage; `e` writes what is shown for Graphviz (`.dot`), or as a table."},
		{"MapHosts", "2 Map, links of hosts", "`H` turns to the links of hosts, a row a switch."},
		{"MapFatTree", "2 Map, three tiers", "Planes by pods, a cell the worst link of several, and beside it the pod link by link."},
		{"MapAround", "2 Map, around a link", "`g` puts what lies around the link under the cursor in place of a matrix, on every fabric and at every size, and takes it away again."},
		{"MapRandom", "2 Map, random graph", "Who is next to whom, the worst first, and what lies two hops around the link under the cursor: `+` and `-` see further, and closer."},
		{"MapRings", "2 Map, further around a link", "From three hops on `+` tells ring by ring what is worst, and how many ways lead around the link."},
		{"Links", "3 Links", "Every link, however many: `s` sorts by the next column, `/` filters by words and fields."},
		{"Paths", "4 Paths", "Where flows of a pair may go, layer by layer; what each flow lost; and where the one under the cursor went."},
		{"Events", "5 Events", "What happened when, by source."},
		{"Captures", "6 Captures", "What captures prove, the worst first: `whichlink FILE.pcap` opens one, and so does evidence that `whichlink pcap -o jsonl` wrote."},
		{"Finding", "A finding", "Its rule and its packets, read from the capture when `p` asks for them; `w` opens them in tshark, `y` copies the command."},
		{"Drill", "7 Drill", "What is broken on purpose, hidden until `R`; `b` breaks and heals, `a` answers; and how the program and you did."},
		{"Past", "Back in time", "In a live session `<` goes back to what was recorded, `t` to the moment of the row, `space` lets time run, `T` leads back to now. All screens show that moment."},
		{"Ask", "Probing harder", "`P` probes harder what is selected, on the paths screen it traces the pair; `:probe`, `:trace` and `:poll` take names. What will be sent is stated, and nothing is before enter. `:stop` ends it."},
		{"Pinned", "Pinned", "`*`, or `:pin NAME`, watches a link or a node: how it is stands on the overview, pinned links come first among the links (marked `*`), and they are remembered by the name of the fabric. `:bell on` rings when a suspect is named or comes first and when what is pinned changes; `:bell notify` says it to the desktop, too, in terminals that know OSC 9."},
		{"Masked", "Names masked", "`A`, `:mask on` or `--mask` put pseudonyms in place of names and addresses on all screens, in what is copied and exported, and in the lines of `--plain`: for shared screens and published pictures. They keep what a thing is, are the same for a session, and are understood by filters and commands. What people wrote is hidden; what is recorded keeps its names."},
		{"Help", "Help", "Made from the keys that the program obeys."},
	} {
		s := scenes()[x.scene](t, 100, 30)
		b.WriteString("\n## " + x.title + "\n\n" + x.says + "\n\n```text\n" + strings.TrimRight(bare(s.View().Content), "\n") + "\n```\n")
	}
	inStep(t, file, b.String())
}

// inStep fails if a document is not what the program says, or writes it anew with -update.
func inStep(t *testing.T, file, want string) {
	t.Helper()
	if f := flag.Lookup("update"); f != nil && f.Value.String() == "true" {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what the program says; go test ./tui -update writes it anew", file)
	}
}
