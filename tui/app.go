package tui

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"whichlink/graphs"
)

const (
	// tickEvery is how often the screen takes a new snapshot: 4 Hz, which a slow terminal line can carry.
	tickEvery = 250 * time.Millisecond
	// stillFor is for how many ticks after a key rows keep their places.
	stillFor = 4
	// sayFor is for how many ticks a message stands.
	sayFor = 16
	// errandTimeout bounds what a trainer may take; Bubble Tea cannot cancel a command.
	errandTimeout = 30 * time.Second
	// fetchTimeout bounds the reading of packets.
	fetchTimeout = 10 * time.Minute
)

type tickMsg struct{}

// An outcomeMsg is the end of an errand.
type outcomeMsg struct {
	says    string
	err     error
	inquiry bool // it was one that can be stopped
}

// A screen is one view of a snapshot. What it draws depends on its state, the snapshot and the size alone.
type screen interface {
	title() string
	refresh(s *Snapshot, still bool)
	// handle takes a key. It returns the screen that the key opens, nil if none.
	handle(msg tea.KeyPressMsg, w, h int, s *Snapshot) screen
	draw(w, h int, s *Snapshot) page
	setFilter(query string, s *Snapshot)
	filtered() *filter
	copied(s *Snapshot) string
}

// App is the one tea.Model: a stack of screens, and what lies over them. Use [Run] to run it.
type App struct {
	ctx      context.Context
	source   Source
	trainer  Trainer
	player   Player
	prober   Prober
	reader   PacketReader
	remark   func(string) error
	save     func(ctx context.Context, name string, data []byte) error
	settings Settings
	settled  string
	theme    *theme
	keys     keyMap
	memory   remembering

	load  load
	crash error // what a command panicked with

	latest *Snapshot // the newest
	shown  *Snapshot // what the screens show: the newest, unless frozen
	// taken and kept are what these two were made of: names as they are, times in UTC.
	taken, kept *Snapshot
	frozen      bool
	mask        *mask          // nil as long as names are shown
	unworn      *mask          // its pseudonyms, while it is off
	zone        *time.Location // of the times on screens; nil is UTC
	reveal      bool

	w, h    int
	tabs    []screen  // those that a digit opens; each keeps its filter, order and cursor
	stack   []screen  // the last is on top; the first, the overview, always stays
	prompt  *input    // the filter, or the command that is being typed
	typing  bool      // a command
	typed   [2]recall // filters, commands
	mouse   bool      // take the mouse from the terminal
	clicked string    // what the last click selected, if nothing was done since
	keep    bool      // leave the last screen where it can be read after the end
	help    *helpBox
	dialog  dialog // nil if none is open

	stopInquiry func() // nil if none is under way
	bell        bell
	pins        pinboard

	message string
	sayLeft int // ticks
	still   int // ticks
}

// NewApp makes the model. ctx bounds what it starts.
func NewApp(ctx context.Context, cfg Config) *App {
	a := &App{ctx: ctx, source: cfg.Source, trainer: cfg.Trainer, player: cfg.Player, prober: cfg.Prober, reader: cfg.Captures, remark: cfg.Remark, save: cfg.Save, settings: cfg.Settings, settled: cfg.Settled, theme: cfg.Settings.theme(cmp.Or(cfg.Theme, cfg.Settings.Theme), cfg.ASCII), keys: newKeyMap(), w: 80, h: 24}
	a.unworn = newMask(rand.Uint64())
	if cfg.Mask || cfg.Settings.Mask {
		a.mask = a.unworn
	}
	if cfg.Settings.keys != nil {
		a.keys = *cfg.Settings.keys
	}
	a.bell.mode = cfg.Settings.Bell
	a.setTabs()
	if err := a.memory.recall(cfg.Memory, a.linkTable()); err != nil {
		a.say("! " + err.Error())
	}
	if cfg.Unsettled != nil {
		a.settled = "ignored: " + cfg.Unsettled.Error()
		a.say("! " + a.settled)
	}
	if err := a.pins.recall(cfg.Memory); err != nil {
		a.say("! " + err.Error())
	}
	a.load = load{make: cfg.Load, says: cfg.Loading, waiting: cfg.Load != nil}
	a.pull()
	a.begin()
	return a
}

// begin goes to the screen that has something to show: of captures alone it is theirs.
func (a *App) begin() {
	if a.shown.Fabric == nil && (a.shown.Captures > 0 || len(a.shown.Findings.all()) > 0) {
		a.visit(5)
	}
}

// setTabs makes the screens that have a digit, and goes to the first.
func (a *App) setTabs() {
	k := &a.keys
	links := newLinksScreen(k)
	if a.tabs != nil {
		was := a.linkTable()
		links.choose(was.choice())
		*was, links = *links, was // a choice of columns that is open goes on with it
	}
	a.tabs = []screen{&overview{keys: k}, newMapScreen(k), links, newPathsScreen(k), newEventsScreen(k), newCapturesScreen(k, a.reader), newDrillScreen(k, a.trainer)}
	a.stack = []screen{a.tabs[0]}
}

func (a *App) linkTable() *linksScreen { return a.tabs[2].(*linksScreen) }

// Init implements tea.Model.
func (a *App) Init() tea.Cmd {
	if a.load.make == nil {
		return tick()
	}
	return tea.Batch(tick(), a.load.cmd(a.ctx))
}

func tick() tea.Cmd { return tea.Tick(tickEvery, func(time.Time) tea.Msg { return tickMsg{} }) }

func (a *App) refresh() {
	for _, s := range a.stack {
		s.refresh(a.shown, a.still > 0)
	}
}

func (a *App) top() screen { return a.stack[len(a.stack)-1] }

// say shows a message for some seconds.
func (a *App) say(message string) { a.message, a.sayLeft = a.mask.text(message), sayFor }

// Update implements tea.Model.
func (a *App) Update(msg tea.Msg) (tea.Model, tea.Cmd) { return a, guarded(a.update(msg)) }

func (a *App) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		a.w, a.h = msg.Width, msg.Height
	case tickMsg:
		settled := a.still == 1
		a.still = max(a.still-1, 0)
		if a.sayLeft = max(a.sayLeft-1, 0); a.sayLeft == 0 {
			a.message = ""
		}
		a.pull()
		if settled { // rows that were held in their places may go where they belong
			a.refresh()
		}
		return tea.Batch(tick(), a.bell.hear(a.taken, a.latest.pins, a.mask), a.memory.keep(a.linkTable()))
	case proposalMsg:
		a.propose(msg)
	case loadedMsg:
		return a.take(msg)
	case outcomeMsg:
		if msg.inquiry {
			a.stopInquiry = nil
		}
		if msg.err != nil {
			a.say("! " + msg.err.Error())
		} else {
			a.say(msg.says)
		}
	case crashMsg:
		a.crash = msg.err
		return tea.Quit
	case keptMsg:
		if a.memory.keeping = false; msg.err != nil {
			a.say("! " + msg.err.Error())
		}
	case pinnedMsg:
		if msg.err != nil {
			a.say("! " + msg.err.Error())
		}
	case pseudonymsMsg:
		a.learned(msg)
	case packetsMsg:
		msg.to.took(msg, a.mask)
	case tea.PasteMsg:
		a.paste(msg)
	case tea.MouseWheelMsg:
		return a.wheel(msg)
	case tea.MouseClickMsg:
		return a.click(msg)
	case tea.KeyPressMsg:
		a.still, a.clicked = stillFor, ""
		return a.press(msg)
	}
	return nil
}

func (a *App) paste(msg tea.PasteMsg) {
	switch {
	case a.dialog != nil:
		a.dialog.paste(msg.Content)
	case a.prompt != nil:
		a.prompt.insert(msg.Content)
		a.apply()
	}
}

// press takes a key. Whatever lies on top owns it; only ctrl-c goes through everything.
func (a *App) press(msg tea.KeyPressMsg) tea.Cmd {
	k := &a.keys
	if cmd, was := a.interrupt(msg); was {
		return cmd
	}
	switch {
	case a.dialog != nil:
		return a.pressDialog(msg)
	case a.prompt != nil:
		return a.pressPrompt(msg)
	case key.Matches(msg, k.Quit):
		return a.quit(false)
	case key.Matches(msg, k.Leave):
		return a.quit(true)
	case key.Matches(msg, k.Redraw):
		return tea.ClearScreen
	case a.help != nil:
		if !a.help.handle(msg, a.w, a.bodyHeight()) {
			a.help = nil
		}
		return nil
	}
	return a.pressScreen(msg)
}

func (a *App) pressScreen(msg tea.KeyPressMsg) tea.Cmd {
	k := &a.keys
	switch {
	case key.Matches(msg, k.Help):
		a.openHelp()
	case key.Matches(msg, k.Filter):
		a.openPrompt()
	case key.Matches(msg, k.Command):
		in := newInput("", 200)
		a.prompt, a.typing = &in, true
	case key.Matches(msg, k.Screens):
		a.visit(slices.Index(k.Screens.Keys(), msg.String()))
	case key.Matches(msg, k.Note):
		return a.note()
	case key.Matches(msg, k.Pin):
		cmd, err := a.pinThis("")
		if err != nil {
			a.say("! " + err.Error())
		}
		return cmd
	case key.Matches(msg, k.Mask):
		return a.setMask(a.mask == nil)
	case key.Matches(msg, k.Mouse):
		a.mouse = !a.mouse
		a.say(map[bool]string{true: "mouse on: the terminal selects no text now", false: "mouse off"}[a.mouse])
	case key.Matches(msg, k.Back):
		a.back()
	case key.Matches(msg, k.Freeze):
		a.freeze()
	case key.Matches(msg, k.Copy):
		if row := a.top().copied(a.shown); row != "" {
			a.say("copied: " + row)
			return tea.SetClipboard(row)
		}
		a.say("nothing to copy")
	case key.Matches(msg, k.Break):
		if a.trainer == nil {
			a.say("no drill here: only a drill can be broken")
			return nil
		}
		a.dialog = newBreakDialog(k, a.trainer, a.latest, a.reveal)
	case key.Matches(msg, k.Reveal):
		a.toggleReveal()
	case key.Matches(msg, k.Probe):
		return a.probeThis()
	case key.Matches(msg, k.Answer) && a.top() == a.tabs[6]:
		in := newInput("answer ", 200)
		a.prompt, a.typing = &in, true
	case key.Matches(msg, k.Remark) && a.top() == a.tabs[4]:
		in := newInput("remark ", 400)
		a.prompt, a.typing = &in, true
	case key.Matches(msg, k.Export):
		if name := a.exportName(); name != "" {
			in := newInput("export "+name, 400)
			a.prompt, a.typing = &in, true
		} else {
			a.say("this screen shows no table to export")
		}
	case key.Matches(msg, k.Columns) && a.top() == a.tabs[2]:
		a.dialog = newChooser(k, a.linkTable())
	case key.Matches(msg, k.Moment):
		a.moment()
	case key.Matches(msg, k.Packets) && a.packets():
	case key.Matches(msg, k.Shark) && isCaptures(a.top()):
		a.shark()
	default:
		if a.player != nil && a.pressTime(msg) {
			return nil
		}
		if next := a.top().handle(msg, a.w, a.bodyHeight(), a.shown); next != nil {
			a.open(next)
		} else if why := k.elsewhere(msg, a.top()); why != "" {
			a.say(why)
		}
		return a.fetch()
	}
	return nil
}

// mostOpen bounds the back-stack.
const mostOpen = 20

// open puts a screen on top.
func (a *App) open(s screen) {
	if len(a.stack) >= mostOpen {
		a.stack = append(a.stack[:1], a.stack[2:]...)
	}
	a.stack = append(a.stack, s)
}

// visit goes to one of the screens that have a digit; esc leads from there to the overview.
func (a *App) visit(i int) {
	a.stack = a.stack[:1]
	if i > 0 {
		a.stack = append(a.stack, a.tabs[i])
	}
	a.refresh()
}

// note copies the note for whoever takes over.
func (a *App) note() tea.Cmd {
	text := handOff(a.shown)
	if text == "" {
		a.say("nothing to hand off yet")
		return nil
	}
	a.say("copied a hand-off note of " + counted(len(text), "byte", "bytes"))
	return tea.SetClipboard(text)
}

func (a *App) whole() {
	if a.player != nil {
		a.player.Whole()
	}
}

// back undoes the last thing that was opened: the filter, then the screen. On the first screen there is nothing left to
// undo, and it does nothing: esc never quits. It never changes the data either: a frozen display stays frozen.
func (a *App) back() {
	switch t := a.top(); {
	case t.filtered().query != "":
		t.setFilter("", a.shown)
	case len(a.stack) > 1:
		a.stack = a.stack[:len(a.stack)-1]
		a.refresh()
	}
}

func (a *App) freeze() {
	a.frozen = !a.frozen
	if !a.frozen {
		a.kept, a.shown = a.taken, a.latest
		a.refresh()
	}
}

func (a *App) toggleReveal() {
	if a.trainer == nil && len(a.shown.Faults) == 0 {
		a.say("no drill here: nothing is broken on purpose")
		return
	}
	a.reveal = !a.reveal
	a.tabs[0].(*overview).reveal, a.tabs[6].(*drillScreen).reveal = a.reveal, a.reveal
}

func (a *App) openPrompt() {
	in := newInput(a.top().filtered().query, 200)
	a.prompt, a.typing = &in, false
}

// pressPrompt edits the filter, which works at once, or the command, which works on enter. It owns every key that prints.
func (a *App) pressPrompt(msg tea.KeyPressMsg) tea.Cmd {
	k := &a.keys
	switch {
	case key.Matches(msg, k.LeaveFilter):
		a.prompt = nil
	case key.Matches(msg, k.KeepFilter):
		text := a.prompt.value()
		a.prompt = nil
		a.recall().add(text)
		if a.typing {
			return a.do(text)
		}
	case a.typing && key.Matches(msg, k.Complete):
		a.complete()
	case key.Matches(msg, k.Recall):
		a.prompt.set(a.recall().step(-1))
		a.apply()
	case key.Matches(msg, k.Onward):
		a.prompt.set(a.recall().step(1))
		a.apply()
	default:
		a.prompt.press(msg)
		a.apply()
	}
	return nil
}

// recall is what was typed before into the prompt that is open.
func (a *App) recall() *recall {
	if a.typing {
		return &a.typed[1]
	}
	return &a.typed[0]
}

// apply filters by what the prompt holds.
func (a *App) apply() {
	if a.typing {
		return
	}
	if q := a.prompt.value(); q != a.top().filtered().query {
		a.top().setFilter(q, a.shown)
	}
}

func (a *App) pressDialog(msg tea.KeyPressMsg) tea.Cmd {
	open, e := a.dialog.handle(msg)
	if !open {
		a.dialog = nil
	}
	if e == nil {
		return nil
	}
	switch {
	case e.leaves:
		a.keep = e.keep
		return tea.Quit
	case e.show != nil:
		return tea.Exec(e.show, func(err error) tea.Msg { return outcomeMsg{says: e.says, err: err} })
	case e.sends != nil:
		return a.send(e.sends)
	}
	a.say("working: " + e.says)
	ctx := a.ctx
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(ctx, errandTimeout)
		defer cancel()
		return outcomeMsg{says: e.says, err: e.do(ctx)}
	}
}

// fabricSize counts what the header tells of a fabric.
func fabricSize(f *graphs.Fabric) (switches, hosts int) {
	for n := range graphs.NodeID(f.NumNodes()) {
		if f.Node(n).IsHost() {
			hosts++
		} else {
			switches++
		}
	}
	return switches, hosts
}
