package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"whichlink/graphs"
)

// A proposalMsg is what an inquiry would send; it opens the dialog that asks.
type proposalMsg struct {
	proposal Proposal
	err      error
}

// whyNot says why nothing can be sent from here, nil if it can.
func (a *App) whyNot() error {
	switch {
	case a.prober != nil:
		return nil
	case a.load.waiting:
		return errors.New("what is measured is still being prepared")
	case a.shown.Live:
		return errors.New("nothing can be sent from here")
	}
	return errors.New("this is a replay: nothing is sent. whichlink --fabric FILE, on a host of the fabric, measures")
}

// inquire asks the prober what an inquiry would send.
func (a *App) inquire(q Inquiry) (tea.Cmd, error) {
	if err := a.whyNot(); err != nil {
		return nil, err
	}
	if p := a.latest.Inquiry; p != nil {
		return nil, fmt.Errorf("%s is under way: wait, or :stop it", p.Says)
	}
	prober, real := a.prober, a.mask.inquiry(q)
	return func() tea.Msg {
		p, err := prober.Propose(real)
		return proposalMsg{p, err}
	}, nil
}

// probeThis inquires about what is selected: the paths of the pair on the paths screen, else the link.
func (a *App) probeThis() tea.Cmd {
	q := Inquiry{Kind: Harder, Of: a.selectedName()}
	if p, ok := a.top().(*pathsScreen); ok && p.src != graphs.None && p.fabric != nil {
		q = Inquiry{Kind: Trace, Src: p.fabric.NodeName(p.src), Dst: p.fabric.NodeName(p.dst)}
	}
	if q.Of == "" && q.Src == "" && a.whyNot() == nil {
		a.say("nothing is selected that could be probed; :probe NAME, :trace SRC DST, :poll SWITCH")
		return nil
	}
	cmd, err := a.inquire(q)
	if err != nil {
		a.say("! " + err.Error())
	}
	return cmd
}

// selectedName is what the cursor is on, in the fabric's words; empty if that is nothing that packets cross.
func (a *App) selectedName() string {
	s := a.shown
	link := func(l graphs.LinkID) string {
		if s.Fabric == nil || l == graphs.None {
			return ""
		}
		return s.Fabric.LinkName(l)
	}
	switch t := a.top().(type) {
	case *overview:
		if x := t.current(s); x != nil {
			return x.ID
		}
	case *linkScreen:
		if t.id != "" {
			return t.id
		}
		return t.link
	case *explainScreen:
		return t.of
	case *linksScreen:
		return link(t.selected)
	case *mapScreen:
		return link(t.focus)
	case *eventsScreen:
		if x := t.current(s); x != nil {
			return x.About
		}
	}
	return ""
}

// propose opens the dialog, and on the way the screen on which the answer will show.
func (a *App) propose(msg proposalMsg) {
	switch {
	case msg.err != nil:
		a.say("! " + msg.err.Error())
	case a.dialog == nil && a.prompt == nil:
		a.dialog = &sendDialog{keys: &a.keys, proposal: a.mask.proposal(msg.proposal)}
	}
}

// sendWidth is what the question takes where there is room.
const sendWidth = 72

// A sendDialog states what will be sent, and asks. While it is open it owns all keys.
type sendDialog struct {
	keys     *keyMap
	proposal Proposal
}

func (d *sendDialog) handle(msg tea.KeyPressMsg) (open bool, e *errand) {
	switch {
	case key.Matches(msg, d.keys.Do):
		return false, &errand{says: d.proposal.Title, sends: &d.proposal}
	case key.Matches(msg, d.keys.Cancel):
		return false, nil
	}
	return true, nil
}

func (d *sendDialog) paste(string) {}

func (d *sendDialog) hints() []line {
	return []line{hint(d.keys.Do, "send it"), hint(d.keys.Cancel, "do not")}
}

func (d *sendDialog) draw(w, h int) page {
	w = min(w, sendWidth)
	boxed := w >= 24 && h >= 8
	inner, room := w, h
	if boxed {
		inner, room = w-4, h-2
	}
	p := text()
	say := func(label, words string) { p.lines = append(p.lines, labelled(label, 8, plain, words, inner)...) }
	say("for", d.proposal.For.String())
	say("target", d.proposal.Target)
	say("rate", d.proposal.Rate)
	// Where there is little room, the footer asks, and the answer is found.
	if len(p.lines)+4 <= room {
		say("answer", d.proposal.Answer)
	}
	p.x, p.y = 0, 0
	if len(p.lines)+2 <= room {
		p.y = len(p.lines) + 1
		l := line{}
		for _, x := range d.hints() {
			l = append(l, x...)
		}
		p.lines = append(p.lines, nil, l)
	}
	p.lines = p.lines[:min(len(p.lines), room)]
	if !boxed {
		return p.fill(w, len(p.lines))
	}
	return frame(d.proposal.Title+"?", "", w, len(p.lines)+2, p)
}

// showAnswer opens the screen on which the answer to an inquiry builds up.
func (a *App) showAnswer(q Inquiry) {
	switch f := a.shown.Fabric; {
	case f == nil:
	case q.Kind == Trace:
		src, ok1 := f.NodeByName(q.Src)
		dst, ok2 := f.NodeByName(q.Dst)
		if p, ok := a.tabs[3].(*pathsScreen); ok && ok1 && ok2 && a.shown.Picture != nil {
			a.visit(3)
			p.setPair(src, dst, a.shown)
		}
	case q.Kind == Harder:
		if _, here := a.top().(*linkScreen); !here {
			if x := linkNamed(&a.keys, q.Of, a.shown); x != nil {
				a.open(x)
			}
		}
	}
}

// stop ends the inquiry that is under way.
func (a *App) stop(_ []string) (tea.Cmd, error) {
	if a.stopInquiry == nil {
		return nil, errors.New("nothing that was asked for is under way")
	}
	a.stopInquiry()
	return nil, nil
}

// words says how far an inquiry is.
func (p *Progress) words(now time.Time) string {
	all := p.Until.Sub(p.Begun)
	text := fmt.Sprintf("%s: %.0f of %s", p.Says, min(now.Sub(p.Begun), all).Seconds(), span5(all))
	if p.Packets > 0 {
		text += fmt.Sprintf(", %s answered or lost, %s lost", counted(p.Packets, "packet", "packets"), count(p.Lost))
	}
	return text
}

func probeCommand(a *App, words []string) (tea.Cmd, error) {
	switch len(words) {
	case 0:
		return a.probeThis(), nil
	case 1:
		if words[0] == "harder" {
			return a.probeThis(), nil
		}
		return a.inquire(Inquiry{Kind: Harder, Of: words[0]})
	}
	return nil, errors.New("probe needs one name, or none for what is selected")
}

func traceCommand(a *App, words []string) (tea.Cmd, error) {
	switch len(words) {
	case 1:
		return a.inquire(Inquiry{Kind: Trace, Dst: words[0]})
	case 2:
		return a.inquire(Inquiry{Kind: Trace, Src: words[0], Dst: words[1]})
	}
	return nil, errors.New("trace needs a host, or two")
}

func pollCommand(a *App, words []string) (tea.Cmd, error) {
	if len(words) != 1 {
		return nil, errors.New("poll needs the name of a switch")
	}
	return a.inquire(Inquiry{Kind: Poll, Of: words[0]})
}

// send does what was agreed to, and says how it ended.
func (a *App) send(p *Proposal) tea.Cmd {
	a.say("sending: " + p.Title)
	a.showAnswer(p.Inquiry)
	ctx, cancel := context.WithTimeout(a.ctx, p.For+errandTimeout)
	a.stopInquiry = cancel
	return func() tea.Msg {
		defer cancel()
		says, err := p.Run(ctx)
		if errors.Is(err, context.Canceled) {
			says, err = strings.TrimSpace("stopped. "+says), nil
		}
		return outcomeMsg{says: says, err: err, inquiry: true}
	}
}
