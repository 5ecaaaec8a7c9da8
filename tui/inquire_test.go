package tui

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
)

// A lookout is a prober that notes what it was asked and what was agreed to.
type lookout struct {
	asked []Inquiry
	ran   []string
	err   error
	until bool // it runs until it is stopped
}

func (l *lookout) Propose(q Inquiry) (Proposal, error) {
	l.asked = append(l.asked, q)
	if l.err != nil {
		return Proposal{}, l.err
	}
	if q.Kind == Trace && q.Src == "" {
		q.Src = "h1-1"
	}
	name := strings.TrimSpace(q.Kind + " " + q.Of + q.Src + " " + q.Dst)
	return Proposal{
		Inquiry: q, Title: strings.ToUpper(name[:1]) + name[1:], Target: "14 flows that cross it, of 8 hosts", Rate: "up to 4,000 of the 8,000 packets/s that are sent anyway: not one more",
		For: 10 * time.Second, Answer: "the screen of the link, and the suspects of the overview",
		Run: func(ctx context.Context) (string, error) {
			l.ran = append(l.ran, name)
			if l.until {
				<-ctx.Done()
				return "3 packets", ctx.Err()
			}
			return "found it", nil
		},
	}, nil
}

// deliver runs a command and hands its message to the screens.
func (s *stage) deliver(cmd tea.Cmd) tea.Cmd {
	if cmd == nil {
		return nil
	}
	_, next := s.Update(cmd())
	return next
}

// Whatever sends more states what, how much and for how long, and asks first.
func TestProbingAsksFirst(t *testing.T) {
	for _, c := range []struct {
		keys []string
		want Inquiry
		then string // on the screen once it is agreed to
	}{
		{[]string{"P"}, Inquiry{Kind: Harder, Of: sickArc}, "> " + sickLink},
		{[]string{"enter", "P"}, Inquiry{Kind: Harder, Of: sickArc}, "> " + sickLink},
		{[]string{"3", "G", "P"}, Inquiry{Kind: Harder, Of: "h4-2:eth1--leaf4:swp6"}, "> h4-2:eth1--leaf4:swp6"},
		{[]string{"2", "P"}, Inquiry{Kind: Harder, Of: sickLink}, "> " + sickLink},
		{[]string{"4", "P"}, Inquiry{Kind: Trace, Src: "h1-1", Dst: "h3-1"}, "h1-1 > h3-1"},
		{[]string{":", "probe spine4", "enter"}, Inquiry{Kind: Harder, Of: "spine4"}, ""},
		{[]string{":", "probe harder", "enter"}, Inquiry{Kind: Harder, Of: sickArc}, ""},
		{[]string{":", "trace h4-2", "enter"}, Inquiry{Kind: Trace, Dst: "h4-2"}, "h1-1 > h4-2"},
		{[]string{":", "trace h2-1 h4-2", "enter"}, Inquiry{Kind: Trace, Src: "h2-1", Dst: "h4-2"}, "h2-1 > h4-2"},
		{[]string{":", "poll leaf1", "enter"}, Inquiry{Kind: Poll, Of: "leaf1"}, ""},
	} {
		s := newStage(t, sick(t), 100, 30)
		l := &lookout{}
		s.prober = l
		var cmd tea.Cmd
		for _, k := range c.keys {
			if strings.Contains(k, " ") {
				s.word(k)
			} else {
				cmd = s.press(k)
			}
		}
		s.deliver(cmd)
		if len(l.asked) != 1 || l.asked[0] != c.want {
			t.Errorf("%v asks for %v, not %v", c.keys, l.asked, c.want)
			continue
		}
		for _, stated := range []string{strings.ToUpper(c.want.Kind[:1]) + c.want.Kind[1:] + " ", "14 flows that cross it", "up to 4,000 of the 8,000 packets/s", "10s", "the screen of the link", "enter send it", "esc do not"} {
			s.sees(t, stated)
		}
		s.press("esc")
		if s.hides(t, "enter send it"); s.dialog != nil || len(l.ran) > 0 {
			t.Errorf("%v: esc does not keep it from being sent", c.keys)
		}
		// Asked again and agreed to, it is sent once.
		s.Update(proposalMsg{proposal: must(l.Propose(c.want))})
		cmd = s.press("enter")
		s.sees(t, c.then)
		if s.deliver(cmd); len(l.ran) != 1 {
			t.Errorf("%v: sent %d times", c.keys, len(l.ran))
		}
		s.sees(t, "found it")
	}
}

func must(p Proposal, err error) Proposal {
	if err != nil {
		panic(err)
	}
	return p
}

// Where nothing can be sent, the keys say why.
func TestProbingSaysWhyNot(t *testing.T) {
	for _, keys := range [][]string{{"P"}, {"4", "P"}, {":", "p", "o", "l", "l", "space", "x", "enter"}, {":", "t", "r", "space", "x", "enter"}} {
		s := newStage(t, thin(t), 100, 30)
		if cmd := s.press(keys...); cmd != nil {
			t.Errorf("%v does something in a replay", keys)
		}
		s.sees(t, "this is a replay: nothing is sent. whichlink --fabric FILE, on a host of the fabric,")
	}
	s := newStage(t, sick(t), 100, 30)
	s.prober = &lookout{err: errors.New("leaf1 has no management address")}
	s.press(":")
	s.word("poll leaf1")
	s.deliver(s.press("enter"))
	s.sees(t, "! leaf1 has no management address")
	if s.dialog != nil {
		t.Error("something that cannot be sent is asked about")
	}
}

// What is under way is shown with how far it is, is the only one, and can be stopped.
func TestProbingCanBeStopped(t *testing.T) {
	s := newStage(t, sick(t), 100, 30)
	l := &lookout{until: true}
	s.prober = l
	s.press(":")
	s.word("stop")
	s.press("enter")
	s.sees(t, "! nothing that was asked for is under way")
	s.deliver(s.press("P"))
	cmd := s.press("enter")
	over := make(chan tea.Msg)
	go func() { over <- cmd() }()
	busy := *s.source.s
	busy.Inquiry = &Progress{Says: "probing " + sickArc, Begun: noon.Add(-4 * time.Second), Until: noon.Add(6 * time.Second), Packets: 1234, Lost: 61}
	s.source.s = &busy
	s.tick(1)
	s.sees(t, "probing "+sickArc+": 4 of 10 s, 1,234 packets answered or lost, 61 lost  :stop")
	if cmd := s.press("P"); cmd != nil {
		t.Error("a second one begins")
	}
	s.press(":")
	s.word("stop")
	s.press("enter")
	s.Update(<-over)
	done := busy
	done.Inquiry = nil
	s.source.s = &done
	s.tick(1)
	s.sees(t, "stopped. 3 packets")
}
