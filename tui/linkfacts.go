package tui

import (
	"fmt"
	"math"
	"strings"
	"time"

	"whichlink/graphs"
	"whichlink/internal/diagnose"
)

// facts says what was counted on the link in both directions, what it shares its fate with, and what happened to it.
func (l *linkScreen) facts(w int, s *Snapshot) []line {
	id := l.linkID(s)
	if id == graphs.None || s.Picture == nil {
		return nil
	}
	var out []line
	for _, a := range [2]graphs.ArcID{id.Forward(), id.Backward()} {
		out = append(out, labelled(direction(a), proofLabel, plain, tallyWords(&s.Picture.Arcs[a]), w)...)
	}
	if points, any := l.ends(s); any {
		if light := lightWords(points, s); light != "" {
			out = append(out, labelled("light", proofLabel, plain, light, w)...)
		}
	}
	for _, g := range s.Fabric.Link(id).Groups {
		out = append(out, labelled("shares", proofLabel, plain, groupWords(s, g, id), w)...)
	}
	found, shares := s.Findings.on(s.Picture, id)
	for i, r := range found[:min(len(found), 3)] {
		sure := "its flow crosses this link"
		if shares[i] < certainly {
			sure = fmt.Sprintf("%s of such flows cross this link", percent(shares[i]))
		}
		out = append(out, labelled("capture", proofLabel, severityStyle(r.Severity), fmt.Sprintf("%s %s, %s: %s", r.Severity, r.Finding, r.Subject, sure), w)...)
	}
	if n := len(found) - 3; n > 0 {
		out = append(out, line{}.left(dim, "", proofLabel).add(dim, fmt.Sprintf("and %d more: %s lists them", n, first(l.keys.Packets))))
	}
	list := l.events(s)
	for i := len(list) - 1; i >= max(0, len(list)-5); i-- {
		x := list[i]
		out = append(out, line{}.left(dim, x.Lane, proofLabel).add(plain, elide(clean(s.at(x.At, s.dated(milliseconds))+"  "+x.Words()), max(w-proofLabel, 8))))
	}
	return out
}

// tallyWords says what was counted on an arc. What was not measured is said to be so.
func tallyWords(t *diagnose.ArcTally) string {
	if !t.Measured {
		return "not measured: unknown, not healthy"
	}
	words := []string{fmt.Sprintf("%d of %s that cross it lose packets, %s of %s in all", t.Lossy, counted(int(t.Flows), "flow", "flows"), percent(t.Loss()), count(int(t.Sent)))}
	if v := float64(t.Late); !math.IsNaN(v) {
		words = append(words, "late by "+micros(v))
	}
	if v := float64(t.Use); !math.IsNaN(v) {
		use := percent(v) + " full"
		if e := float64(t.Expected); !math.IsNaN(e) {
			use += ", expected " + percent(e)
		}
		words = append(words, use)
	}
	return strings.Join(words, "; ")
}

// groupWords says which of the links that share a cable, a card or a box with this one are suspected, too.
func groupWords(s *Snapshot, g graphs.GroupID, but graphs.LinkID) string {
	group := s.Fabric.Group(g)
	worst, at, suspected := -1.0, graphs.LinkID(graphs.None), 0
	for _, l := range group.Links {
		v := float64(max(s.Picture.Arcs[l.Forward()].Suspicion, s.Picture.Arcs[l.Backward()].Suspicion))
		if v >= diagnose.Named {
			suspected++
		}
		if l != but && v > worst {
			worst, at = v, l
		}
	}
	text := fmt.Sprintf("%s with %s, %d suspected", group.Name, counted(len(group.Links)-1, "other link", "other links"), suspected)
	if at != graphs.None && worst >= 0.05 {
		text += fmt.Sprintf("; %s at p %s", s.Fabric.LinkName(at), probability(worst))
	}
	return text
}

// events returns what happened to the link, its arcs or its ports, the oldest first.
func (l *linkScreen) events(s *Snapshot) []diagnose.Event {
	id := l.linkID(s)
	if s.Picture == nil || id == graphs.None {
		return nil
	}
	f := s.Fabric
	ends := f.Link(id).Ends
	names := map[string]bool{f.LinkName(id): true, f.ArcName(id.Forward()): true, f.ArcName(id.Backward()): true, f.PortName(ends[0]): true, f.PortName(ends[1]): true}
	var out []diagnose.Event
	for _, x := range s.Picture.Events {
		if names[x.About] {
			out = append(out, x)
		}
	}
	return out
}

// wentDown reports whether an event is the beginning of a time in which a link was down.
func wentDown(x *diagnose.Event) bool {
	return x.Lane != diagnose.LaneVerdict && (strings.HasSuffix(x.What, "went down") || strings.HasPrefix(x.What, string(diagnose.Flap)) || strings.HasPrefix(x.What, string(diagnose.Down)))
}

// downs marks when the link went down, in the columns of the series above.
func (l *linkScreen) downs(k, span int, s *Snapshot) string {
	cells := []byte(strings.Repeat(" ", max(span, 0)))
	bins := (l.bins() + k - 1) / k
	column := l.detail.Bin * time.Duration(k)
	for i := range min(bins, span) {
		cells[span-1-i] = '.'
	}
	for _, x := range l.events(s) {
		if i := int(x.At.Sub(l.detail.Start)/column) + span - bins; wentDown(&x) && !x.At.Before(l.detail.Start) && i >= 0 && i < span {
			cells[i] = '!'
		}
	}
	return string(cells)
}

func (l *linkScreen) downCount(s *Snapshot) string {
	n := 0
	for _, x := range l.events(s) {
		if wentDown(&x) {
			n++
		}
	}
	if n == 0 {
		return "never"
	}
	return counted(n, "time", "times")
}
