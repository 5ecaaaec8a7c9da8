package diagnose

// tornLess is how many times as much a flow may lose in a window in which its path changed as in all others together for these to tell what loses packets on its ways.
const tornLess = 10

// markTorn notes which echoes span a change of their flow's path where others of the flow tell, too, what loses packets on its ways. Of what was sent a part went one way and the
// rest another: taken to have gone the same way, all of it would belie an arc that is dead, and put a part of its losses on others. Where a flow loses next to nothing else, it was perhaps
// moved because its way failed, and then that window alone tells.
func (l *flowLog) markTorn() {
	sent, lost := 0, 0
	for i := range l.echoes {
		e := &l.echoes[i]
		path, back := l.at(e, false)
		e.torn = e.lost < e.sent && e.beside == nil && (len(path.alternatives) > len(e.path.alternatives) || len(back.alternatives) > len(e.back.alternatives))
		if !e.torn {
			sent, lost = sent+e.sent, lost+e.lost
		}
	}
	for i := range l.echoes {
		e := &l.echoes[i]
		e.torn = e.torn && lost > 0 && e.lost*sent <= tornLess*lost*e.sent
	}
}
