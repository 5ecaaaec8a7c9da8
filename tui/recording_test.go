package tui

import (
	"testing"
	"time"
)

// That recording stopped is said on every screen and at every size, whatever moment is shown, in place of how long it has gone on.
func TestRecordingStopped(t *testing.T) {
	for _, c := range []struct {
		w, h int
		why  string
		want string
	}{
		{200, 60, "no space", "   REC stopped: no space\n"},
		{92, 30, "no space", "7 Drill  REC stopped: no space\n"},
		{91, 30, "no space", "7 Drill           REC stopped\n"},
		{81, 24, "no space", "7 Drill REC stopped\n"},
		{80, 24, "no space", "   REC stopped: no space\n"},
		{80, 24, "input/output error", "REC stopped: input/output error\n"},
		{43, 20, "no space", " REC stopped\n"},
		{100, 10, "no space", "REC stopped  > LIVE"},
		{60, 8, "no space", "REC stopped  > LIVE"},
		{120, 24, "no\x1b[2J space", "REC stopped: no\ufffd[2J space\n"},
	} {
		going := *sick(t)
		going.Recording = time.Minute
		s := newStage(t, &going, c.w, c.h)
		s.hides(t, "REC stopped")
		ended := going
		ended.Recording, ended.Unrecorded = 0, c.why
		s.source.s = &ended
		for _, screen := range []string{"2", "5", "1"} {
			s.press(screen)
			s.tick(1)
			s.sees(t, c.want)
			check(t, s, c.w, c.h)
		}
	}
	ended := *sick(t)
	ended.Unrecorded = "no space"
	s := newStage(t, sick(t), 40, 12)
	s.press("f")
	s.source.s = &ended
	s.tick(1)
	s.sees(t, "! recording stopped: no space")
	s.w = 120
	s.tick(sayFor)
	s.hides(t, "! recording")
	s.h = 24
	s.sees(t, "|| FROZEN")
	s.sees(t, "REC stopped: no space")
	s.player = &hand{}
	s.press("<")
	s.sees(t, "recording stopped (no space)")
}
