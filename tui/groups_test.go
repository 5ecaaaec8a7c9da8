package tui

import (
	"fmt"
	"testing"
	"time"

	"whichlink/internal/diagnose"
)

// Sources agree on a link if they tell of it at the same times; what one source says, however often, is no agreement.
func TestGroups(t *testing.T) {
	f := sick(t).Fabric
	at := func(s float64) time.Time { return noon.Add(time.Duration(s * float64(time.Second))) }
	event := func(s float64, lane, about string) diagnose.Event {
		return diagnose.Event{At: at(s), Lane: lane, What: "something", About: about, Count: 1}
	}
	const other = "leaf2:swp1--spine1:swp2"
	list := []diagnose.Event{
		event(0, "note", "ana"),
		event(10, "snmp", "spine3:swp1"), event(11, "probe", sickArc), event(12, "probe", "14 flows"),
		event(20, "snmp", "leaf2:swp1"), event(21, "snmp", "spine1:swp2"), event(22, diagnose.LaneVerdict, other),
		event(40, "snmp", "leaf1:swp3"), event(41.5, "pcap", sickLink),
		event(60, "probe", sickArc),
		event(80, "probe", other), event(90, "snmp", "leaf2:swp1"),
		event(95, "snmp", "unknown:port"), event(95, "probe", "another"),
	}
	got := groupsOf(f, list)
	if len(got) != 1 {
		t.Fatalf("%d groups: %v", len(got), got)
	}
	g := got[0]
	if f.LinkName(g.link) != sickLink || fmt.Sprint(g.lanes) != "[pcap probe snmp]" || g.bursts != 2 || g.lag != 2*time.Second || g.first != 1 || g.note != 0 {
		t.Errorf("the group is %+v", g)
	}
	if fmt.Sprint(g.events) != "map[1:true 2:true 3:true 7:true 8:true]" {
		t.Errorf("it holds the events %v", g.events)
	}
	if len(groupsOf(nil, list)) != 0 || len(groupsOf(f, nil)) != 0 {
		t.Error("groups of nothing")
	}
	s := newStage(t, sick(t), 120, 40)
	s.press("5")
	s.sees(t, "group 1  probe and snmp agree on "+sickLink+", 1 time within 2.0 s")
	s.sees(t, `21 s after the note "drained by ana, INC-4471"`)
}
