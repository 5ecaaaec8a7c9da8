package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"whichlink/graphs"
	"whichlink/probes"
)

const (
	// leastOfFew is how many packets few flows must have lost for that to be told, and fewOf how many times as many flows there must be.
	leastOfFew, fewOf = 10, 10
)

// fewFlows tells which flows lost nearly all that was lost, where they are few of many, and how to see where their packets end: what hits one flow alone no other tells of, and to measure
// all of them for longer does not either.
func (s *Store) fewFlows() []string {
	type tally struct {
		*flowLog
		fate
	}
	var lossy []tally
	flows, total := 0, 0
	for _, l := range s.order {
		x := tally{l, l.fate(time.Time{})}
		if x.sent > 0 {
			flows++
		}
		if x.lost > 0 {
			lossy, total = append(lossy, x), total+x.lost
		}
	}
	slices.SortStableFunc(lossy, func(a, b tally) int { return -cmp.Compare(a.lost, b.lost) })
	few, n := 0, 0
	for n < min(mostShown, len(lossy)) && !mostly(few, total) {
		few += lossy[n].lost
		n++
	}
	if few < leastOfFew || !mostly(few, total) || flows < fewOf*n {
		return nil
	}
	of := "all packets lost are"
	if few < total {
		of = fmt.Sprintf("%s of the %s packets lost are", thousands(few), thousands(total))
	}
	var logs []*flowLog
	for _, x := range lossy[:n] {
		logs = append(logs, x.flowLog)
	}
	return append([]string{fmt.Sprintf("%s of %d of %s flows: %s", of, n, thousands(flows), s.lossesWords(logs))}, s.traceOf(logs[0])...)
}

// oddFlows tells which of the flows that lose more than anything that is named explains are not heard of any more, and how to see where their packets end.
func (s *Store) oddFlows(odd []*flowLog) []string {
	odd = slices.DeleteFunc(odd, func(l *flowLog) bool {
		heard, until := l.lastHeard()
		return until.Sub(heard) < leastSilent
	})
	if len(odd) == 0 {
		return nil
	}
	slices.SortStableFunc(odd, func(a, b *flowLog) int { return -cmp.Compare(a.fate(time.Time{}).lost, b.fate(time.Time{}).lost) })
	text := fmt.Sprintf("nothing that is named explains what %s of %s flows lost: %s", thousands(len(odd)), thousands(len(s.order)), s.lossesWords(odd[:min(mostShown, len(odd))]))
	if len(odd) > mostShown {
		text += fmt.Sprintf("; and %s more", thousands(len(odd)-mostShown))
	}
	return append([]string{text}, s.traceOf(odd[0])...)
}

// lossesWords says of flows what each lost.
func (s *Store) lossesWords(flows []*flowLog) string {
	var words []string
	for _, l := range flows {
		x := l.fate(time.Time{})
		words = append(words, l.words()+" "+s.lostWords(l, x.sent, x.lost))
	}
	return strings.Join(words, "; ")
}

// words names a flow by its header.
func (l *flowLog) words() string {
	return graphs.Clean(fmt.Sprintf("%s port %d to %s port %d (%s)", l.flow.Src, l.flow.SrcPort, l.flow.Dst, l.flow.DstPort, l.flow.Proto))
}

// lostWords says how much a flow lost, on which way where all of it was on one, and since when all.
func (s *Store) lostWords(l *flowLog, sent, lost int) string {
	there, back := 0, 0
	var since time.Time
	for i := range l.echoes {
		e := &l.echoes[i]
		there, back = there+e.lostForward, back+e.lostBack
		switch {
		case e.lost < e.sent:
			since = time.Time{}
		case e.sent > 0 && since.IsZero():
			since = e.start
		}
	}
	text := fmt.Sprintf("lost %s of %s", thousands(lost), thousands(sent))
	if lost == sent {
		text = fmt.Sprintf("lost all of %s", thousands(sent))
	}
	switch lost {
	case there:
		text += " on the way there"
	case back:
		text += " on the way back"
	}
	if lost < sent && !since.IsZero() {
		text += ", all since " + s.dial().clock(since)
	}
	return text
}

// traceOf is how to see where the packets of a probed flow end.
func (s *Store) traceOf(l *flowLog) []string {
	if !l.probed() {
		return nil
	}
	flags := ""
	if l.flow.DstPort != probes.DefaultPort {
		flags += fmt.Sprintf(" --port %d", l.flow.DstPort)
	}
	if l.flow.DSCP != 0 {
		flags += fmt.Sprintf(" --dscp %d", l.flow.DSCP)
	}
	return []string{fmt.Sprintf("see where it ends, on %s: whichlink trace %s --from %s --sport %d --flows 1 --fabric %s%s", s.fabric.NodeName(l.src), l.flow.Dst, l.flow.Src, l.flow.SrcPort, s.fabricFile(), flags)}
}
