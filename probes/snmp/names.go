package snmp

import (
	"cmp"
	"strconv"
)

// A portRow is what a port may be called by.
type portRow struct {
	index       uint32
	name, descr string // ifName and ifDescr
	up          bool
}

// name gives ports their labels.
func name(ports []Port, labels map[uint32]label) {
	rows := make([]portRow, len(ports))
	for i := range ports {
		q := &ports[i]
		l := labels[q.Index]
		q.Alias, q.Type, q.Speed, q.descr = l.alias, l.kind, l.speed, l.descr
		rows[i] = portRow{q.Index, l.name, l.descr, q.Oper != "down" && q.Oper != "notPresent"}
	}
	for i, n := range portNames(rows) {
		ports[i].Name = n
	}
}

// portNames are what ports, in the order of their ifIndex, are called: ifName, or ifDescr where there is none. ifName need not be unique (in one device of
// ten it is not): what shares a name is called by its ifDescr where that is unique, else NAME#IFINDEX. Of a row that was created anew beside its old self,
// which stays for a while and is down, the new one keeps the name.
func portNames(rows []portRow) []string {
	names := make([]string, len(rows))
	count := make(map[string]int, len(rows))
	for i, r := range rows {
		names[i] = cmp.Or(r.name, r.descr, "if"+strconv.FormatUint(uint64(r.index), 10))
		count[names[i]]++
	}
	shared := map[string][]int{}
	for i, n := range names {
		if count[n] > 1 {
			shared[n] = append(shared[n], i)
		}
	}
	for i := range rows { // in order, so that names do not depend on that of a map
		was := names[i]
		if group := shared[was]; len(group) > 1 {
			delete(shared, was)
			separate(rows, names, group, count)
		}
	}
	return names
}

// separate gives ports that share a name names of their own.
func separate(rows []portRow, names []string, group []int, count map[string]int) {
	descr := map[string]int{}
	newest := group[len(group)-1]
	for _, i := range group {
		descr[rows[i].descr]++
		if i != group[len(group)-1] && rows[i].up {
			newest = -1
		}
	}
	if len(descr) > 1 {
		newest = -1
	}
	for _, i := range group {
		switch d := rows[i].descr; {
		case i == newest:
		case d != "" && descr[d] == 1 && count[d] == 0:
			names[i] = d
			count[d]++
		default:
			names[i] += "#" + strconv.FormatUint(uint64(rows[i].index), 10)
		}
	}
}
