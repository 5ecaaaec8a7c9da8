package snmp

import "strconv"

// name gives ports their labels. ifName need not be unique (in one device of ten it is not): what shares a name is called by its ifDescr where
// that is unique, else NAME#IFINDEX. Of a row that was
// created anew beside its old self, which stays for a while and is down, the new one keeps the name.
func name(ports []Port, labels map[uint32]label) {
	count := make(map[string]int, len(ports))
	for i := range ports {
		q := &ports[i]
		l := labels[q.Index]
		q.Name, q.Alias, q.Type, q.Speed, q.descr = l.name, l.alias, l.kind, l.speed, l.descr
		if q.Name == "" {
			q.Name = l.descr
		}
		if q.Name == "" {
			q.Name = "if" + strconv.FormatUint(uint64(q.Index), 10)
		}
		count[q.Name]++
	}
	shared := map[string][]*Port{}
	for i := range ports {
		if q := &ports[i]; count[q.Name] > 1 {
			shared[q.Name] = append(shared[q.Name], q)
		}
	}
	for i := range ports { // in order, so that names do not depend on that of a map
		group := shared[ports[i].Name]
		if len(group) < 2 {
			continue
		}
		delete(shared, ports[i].Name)
		separate(group, count)
	}
}

// separate gives ports that share a name names of their own.
func separate(group []*Port, count map[string]int) {
	descr := map[string]int{}
	newest := group[len(group)-1] // they are in the order of their ifIndex
	for _, q := range group {
		descr[q.descr]++
		if q != group[len(group)-1] && q.Oper != "down" && q.Oper != "notPresent" {
			newest = nil
		}
	}
	if len(descr) > 1 {
		newest = nil
	}
	for _, q := range group {
		switch {
		case q == newest:
		case q.descr != "" && descr[q.descr] == 1 && count[q.descr] == 0:
			q.Name = q.descr
			count[q.Name]++
		default:
			q.Name += "#" + strconv.FormatUint(uint64(q.Index), 10)
		}
	}
}
