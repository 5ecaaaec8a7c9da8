package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"whichlink/graphs"
)

// A command is what can be typed behind a colon.
type command struct {
	name string
	args string // shown in the completion
	does string
	// complete returns what the next word may be.
	complete func(a *App, words []string) []string
	run      func(a *App, words []string) (tea.Cmd, error)
}

// commands returns all commands by name. Keys and commands do the same things: a command is for those who know its name.
func commands() []command {
	screenTo := func(i int) func(*App, []string) (tea.Cmd, error) {
		return func(a *App, _ []string) (tea.Cmd, error) { a.visit(i); return nil, nil }
	}
	does := func(f func(*App)) func(*App, []string) (tea.Cmd, error) {
		return func(a *App, _ []string) (tea.Cmd, error) { f(a); return nil, nil }
	}
	return []command{
		{"all", "", "show all of the replayed evidence", nil, does((*App).whole)},
		{"answer", "NAME", "in a drill: what is broken, or nothing", completeAnswers, answerDrill},
		{"bell", "MODE", "on, notify or off: when suspects or pins change", func(*App, []string) []string { return bellModes() }, setBell},
		{"captures", "", "what captures prove", nil, screenTo(5)},
		{"drill", "", "what is broken on purpose, and the score", nil, screenTo(6)},
		{"events", "", "the events", nil, screenTo(4)},
		{"explain", "NAME", "why the selected, or what is named, is suspected or not", completeSuspects, explain},
		{"export", "FILE", "the table as .csv, .json or .md, the map as .dot, too", nil, exportThis},
		{"filter", "WORDS", "filter this screen", nil, func(a *App, words []string) (tea.Cmd, error) {
			a.top().setFilter(strings.Join(words, " "), a.shown)
			return nil, nil
		}},
		{"freeze", "", "freeze or resume", nil, does((*App).freeze)},
		{"goto", "NAME", "open a link, arc, port, or a switch's links", completeNames, gotoName},
		{"help", "", "help", nil, does((*App).openHelp)},
		{"layer", "NAME", "what the map shows", func(*App, []string) []string { return layerNames() }, setLayer},
		{"links", "", "all links", nil, screenTo(2)},
		{"map", "", "the map", nil, screenTo(1)},
		{"mask", "on|off", "pseudonyms in place of names and addresses", func(*App, []string) []string { return []string{"off", "on"} }, maskCommand},
		{"note", "", "copy a hand-off note", nil, func(a *App, _ []string) (tea.Cmd, error) { return a.note(), nil }},
		{"overview", "", "verdict and suspects", nil, screenTo(0)},
		{"paths", "SRC DST", "the paths of a pair", completeNodes, showPaths},
		{"pin", "NAME", "watch a link or node, or no longer", completeNames, pinCommand},
		{"poll", "SWITCH", "read a switch's ports by SNMP; asks first", completeSwitches, pollCommand},
		{"probe", "NAME", "more packets across it, or the selected; asks first", completeNames, probeCommand},
		{"quit", "", "quit", nil, func(a *App, _ []string) (tea.Cmd, error) { return a.quit(false), nil }},
		{"remark", "TEXT", "put a note among the evidence", nil, remarkThis},
		{"seek", "TIME", "go to a time, or by +10s, -1m", nil, seekTo},
		{"settings", "", "where keys and themes are from", nil, func(a *App, _ []string) (tea.Cmd, error) {
			a.say(cmp.Or(a.settled, "keys and themes are the program's own"))
			return nil, nil
		}},
		{"sort", "COLUMN", "sort the links", func(*App, []string) []string { return linkFields() }, sortLinks},
		{"speed", "X", "replay so many times as fast", nil, setSpeed},
		{"stop", "", "stop what was asked for", nil, (*App).stop},
		{"tz", "ZONE", "times in utc or local", func(*App, []string) []string { return []string{"local", "utc"} }, setZone},
		{"theme", "NAME", "colours", func(a *App, _ []string) []string { return a.settings.ThemeNames() }, func(a *App, words []string) (tea.Cmd, error) {
			if len(words) != 1 || !slices.Contains(a.settings.ThemeNames(), words[0]) {
				return nil, fmt.Errorf("themes are %s", strings.Join(a.settings.ThemeNames(), ", "))
			}
			a.theme = a.settings.theme(words[0], a.theme.ascii)
			return nil, nil
		}},
		{"trace", "SRC DST", "the paths of a pair, by new flows; asks first", completeHosts, traceCommand},
	}
}

func layerNames() []string {
	var names []string
	for _, l := range layers() {
		names = append(names, l.name)
	}
	return names
}

// do runs what was typed. A name may be cut short as long as it means one thing.
func (a *App) do(text string) tea.Cmd {
	words := strings.Fields(text)
	if len(words) == 0 {
		return nil
	}
	found := matching(words[0])
	if len(found) != 1 {
		a.say("! no command " + strconv.Quote(words[0]) + "; " + first(a.keys.Complete) + " completes, " + first(a.keys.Help) + " lists them")
		return nil
	}
	cmd, err := found[0].run(a, words[1:])
	if err != nil {
		a.say("! " + err.Error())
	}
	return cmd
}

func matching(prefix string) []command {
	var found []command
	for _, c := range commands() {
		if c.name == prefix {
			return []command{c}
		}
		if strings.HasPrefix(c.name, prefix) {
			found = append(found, c)
		}
	}
	return found
}

// mostOffered bounds what is offered for completion: more cannot be read.
const mostOffered = 50

// candidates returns what may stand in place of the last word that is being typed.
func (a *App) candidates(text string) []string {
	words := strings.Fields(text)
	if len(words) == 0 || strings.HasSuffix(text, " ") {
		words = append(words, "")
	}
	last := words[len(words)-1]
	var all []string
	if len(words) == 1 {
		for _, c := range commands() {
			all = append(all, c.name)
		}
	} else if c := matching(words[0]); len(c) == 1 && c[0].complete != nil {
		all = c[0].complete(a, words[1:])
	}
	var out []string
	for _, name := range all {
		if strings.HasPrefix(strings.ToLower(name), strings.ToLower(last)) {
			if out = append(out, name); len(out) == mostOffered {
				break
			}
		}
	}
	return out
}

// complete puts in what all candidates have in common; if there is but one, all of it.
func (a *App) complete() {
	text := a.prompt.value()
	found := a.candidates(text)
	if len(found) == 0 {
		return
	}
	common := found[0]
	for _, f := range found[1:] {
		n := 0
		for n < len(common) && n < len(f) && common[n] == f[n] {
			n++
		}
		common = common[:n]
	}
	head := text[:strings.LastIndexByte(text, ' ')+1]
	if len(found) == 1 {
		common += " "
	}
	if len(head)+len(common) >= len(text) {
		a.prompt.set(head + common)
	}
}

func nodeNames(f *graphs.Fabric, which func(graphs.NodeID) bool) []string {
	if f == nil {
		return nil
	}
	var names []string
	for n := range graphs.NodeID(f.NumNodes()) {
		if which(n) {
			names = append(names, f.NodeName(n))
		}
	}
	slices.Sort(names)
	return names
}

func anyNode(graphs.NodeID) bool { return true }

func completeNodes(a *App, _ []string) []string { return nodeNames(a.shown.Fabric, anyNode) }

func completeHosts(a *App, _ []string) []string {
	f := a.shown.Fabric
	return nodeNames(f, func(n graphs.NodeID) bool { return f.Node(n).IsHost() })
}

func completeSwitches(a *App, _ []string) []string {
	f := a.shown.Fabric
	return nodeNames(f, func(n graphs.NodeID) bool { return !f.Node(n).IsHost() })
}

// completeNames completes nodes first, and links once a node is named.
func completeNames(a *App, words []string) []string {
	f := a.shown.Fabric
	if f == nil || len(words) == 0 || !strings.Contains(words[0], ":") {
		return nodeNames(f, anyNode)
	}
	var names []string
	for l := range graphs.LinkID(f.NumLinks()) {
		if name := f.LinkName(l); strings.HasPrefix(name, words[0]) {
			names = append(names, name)
		}
	}
	return names
}

// completeAnswers are names, and nothing.
func completeAnswers(a *App, words []string) []string {
	return append(completeNames(a, words), "nothing")
}

// answerDrill names what is broken.
func answerDrill(a *App, words []string) (tea.Cmd, error) {
	if a.trainer == nil {
		return nil, fmt.Errorf("no drill here: nothing is broken on purpose")
	}
	if len(words) != 1 {
		return nil, fmt.Errorf("answer needs one name, or nothing")
	}
	says, err := a.trainer.Answer(a.mask.real(words[0]))
	if err == nil {
		a.say(says)
	}
	return nil, err
}

// remarkThis puts a note among the evidence.
func remarkThis(a *App, words []string) (tea.Cmd, error) {
	switch {
	case a.remark == nil:
		return nil, fmt.Errorf("nothing is recorded here that a remark could stand in")
	case len(words) == 0:
		return nil, fmt.Errorf("a remark needs words")
	}
	if err := a.remark(a.mask.real(strings.Join(words, " "))); err != nil {
		return nil, err
	}
	a.say("noted")
	return nil, nil
}

// setZone shows times in UTC, in the zone of this machine, or in one by its name.
func setZone(a *App, words []string) (tea.Cmd, error) {
	if len(words) != 1 {
		return nil, fmt.Errorf("tz needs utc, local, or the name of a zone")
	}
	switch name := words[0]; name {
	case "utc":
		a.zone = nil
	case "local":
		a.zone = time.Local
	default:
		zone, err := time.LoadLocation(name)
		if err != nil {
			return nil, fmt.Errorf("no zone is called %q", name)
		}
		a.zone = zone
	}
	a.lookAgain()
	a.refresh()
	if a.zone == nil {
		a.say("times are in UTC (Z)")
	} else {
		a.say("times are of " + a.zone.String() + " (L); what is copied and exported stays in UTC")
	}
	return nil, nil
}

// in returns the snapshot with the times of a zone.
func (s *Snapshot) in(zone *time.Location) *Snapshot {
	c := *s
	c.Zone = zone
	return &c
}

// gotoName opens what a name means.
func gotoName(a *App, words []string) (tea.Cmd, error) {
	if len(words) != 1 {
		return nil, fmt.Errorf("goto needs one name")
	}
	if x := linkNamed(&a.keys, words[0], a.shown); x != nil {
		a.open(x)
		return nil, nil
	}
	if f := a.shown.Fabric; f != nil {
		if _, ok := f.NodeByName(words[0]); ok {
			a.visit(2)
			a.top().setFilter(words[0]+":", a.shown)
			return nil, nil
		}
	}
	return nil, fmt.Errorf("no link, port or node is called %q", words[0])
}

func setLayer(a *App, words []string) (tea.Cmd, error) {
	i := -1
	if len(words) == 1 {
		i = slices.Index(layerNames(), words[0])
	}
	if i < 0 {
		return nil, fmt.Errorf("layers are %s", strings.Join(layerNames(), ", "))
	}
	m, ok := a.top().(*mapScreen)
	if !ok {
		a.visit(1)
		m = a.tabs[1].(*mapScreen)
	}
	m.layer, m.from = i, nil
	m.refresh(a.shown, false)
	return nil, nil
}

func showPaths(a *App, words []string) (tea.Cmd, error) {
	p := a.tabs[3].(*pathsScreen)
	a.visit(3)
	if len(words) == 0 {
		return nil, nil
	}
	f := a.shown.Fabric
	if len(words) != 2 || f == nil || a.shown.Picture == nil {
		return nil, fmt.Errorf("paths needs two nodes of a known fabric")
	}
	var ends [2]graphs.NodeID
	for i, w := range words {
		n, ok := f.NodeByName(w)
		if !ok {
			return nil, fmt.Errorf("no node is called %q", w)
		}
		ends[i] = n
	}
	if ends[0] == ends[1] {
		return nil, fmt.Errorf("%q is both ends", words[0])
	}
	p.setPair(ends[0], ends[1], a.shown)
	return nil, nil
}

func sortLinks(a *App, words []string) (tea.Cmd, error) {
	l := a.linkTable()
	if len(words) != 1 || !l.sortBy(words[0], a.shown) {
		return nil, fmt.Errorf("columns are %s", strings.Join(linkFields(), ", "))
	}
	a.visit(2)
	return nil, nil
}

// seekTo goes to a time of day of the evidence, a full time, or by a step.
func seekTo(a *App, words []string) (tea.Cmd, error) {
	p := a.shown.Playing
	if p == nil && a.shown.Live && a.shown.Recording > 0 {
		p = &Playing{At: a.shown.Now}
	}
	if a.player == nil || p == nil {
		return nil, fmt.Errorf("this is no replay: there is nothing to seek in")
	}
	if len(words) != 1 {
		return nil, fmt.Errorf("seek needs a time, such as 14:32:07 or -30s")
	}
	if d, err := time.ParseDuration(words[0]); err == nil {
		a.player.Seek(p.At.Add(d))
		return nil, nil
	}
	if t, err := time.Parse(time.RFC3339, words[0]); err == nil {
		a.player.Seek(t)
		return nil, nil
	}
	t, err := time.Parse("15:04:05", strings.TrimSuffix(words[0], "Z"))
	if err != nil {
		return nil, fmt.Errorf("%q is no time: expected 14:32:07, RFC 3339, or a step such as -30s", words[0])
	}
	zone := cmp.Or(a.zone, time.UTC) // as the times stand on the screens
	if strings.HasSuffix(words[0], "Z") {
		zone = time.UTC
	}
	y, m, d := p.At.In(zone).Date()
	a.player.Seek(time.Date(y, m, d, t.Hour(), t.Minute(), t.Second(), 0, zone))
	return nil, nil
}

func setSpeed(a *App, words []string) (tea.Cmd, error) {
	if a.player == nil {
		return nil, fmt.Errorf("this is no replay: it runs as it happens")
	}
	if len(words) == 1 {
		if x, err := strconv.ParseFloat(strings.TrimSuffix(words[0], "x"), 64); err == nil && x >= leastSpeed && x <= mostSpeed {
			a.player.Speed(x)
			return nil, nil
		}
	}
	return nil, fmt.Errorf("speed is a number from %g to %d", leastSpeed, mostSpeed)
}
