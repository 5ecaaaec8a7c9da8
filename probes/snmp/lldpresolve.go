package snmp

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"whichlink/graphs/spelling"
)

// Resolve finds out, for what some systems tell, which system each neighbour is and which ports the two ends of each cable are, and gives the
// systems names that tell them apart. It changes the systems, and returns what is to be told of them, one sentence each.
//
// A neighbour is known by its chassis, else by an address at which it is managed, else by its name. A port is found by the [Step]s. Each step
// decides only where one answer is left.
func Resolve(systems []*System) []string {
	r := &resolver{systems: systems, chassis: map[string][]int{}, mac: map[string][]int{}, address: map[netip.Addr][]int{}, name: map[string][]int{}}
	for _, s := range systems {
		r.finders = append(r.finders, newPortFinder(s))
	}
	r.index()
	for i, s := range systems {
		for k := range s.Hears {
			h := &s.Hears[k]
			h.Port, h.Step = r.finders[i].number(h.Protocol, h.Number)
			if h.Port == "" {
				h.Step = ""
			}
		}
		s.Hears = fallBack(s.Hears)
		for k := range s.Hears {
			s.Hears[k].Far = r.far(i, &s.Hears[k])
		}
	}
	r.doubtNames()
	for _, s := range systems {
		for k := range s.Hears {
			if h := &s.Hears[k]; h.Far >= 0 {
				h.FarPort, h.FarStep = r.finders[h.Far].far(h)
			}
		}
	}
	r.reciprocate()
	r.nameSystems()
	for _, s := range systems {
		for k := range s.Hears {
			if h := &s.Hears[k]; h.Port == "" {
				r.note("%s hears a neighbour (%s) at %s, which is none of its ports that can be told: left out", s.Name, about(h), told(h))
			}
		}
	}
	return r.notes
}

type resolver struct {
	systems []*System
	finders []*portFinder
	// The systems that have a chassis identifier, the MAC address of an interface, an address, or a name in its canonical form.
	chassis, mac, name map[string][]int
	address            map[netip.Addr][]int
	notes              []string
}

func (r *resolver) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

func (r *resolver) index() {
	put := func(to map[string][]int, key string, i int) {
		if key != "" && !slices.Contains(to[key], i) {
			to[key] = append(to[key], i)
		}
	}
	for i, s := range r.systems {
		put(r.chassis, s.Chassis.key(), i)
		put(r.name, spelling.Node(s.Name), i)
		put(r.name, spelling.Node(s.SysName), i)
		for k := range s.Ports {
			put(r.mac, s.Ports[k].MAC, i)
		}
		own := []netip.Addr{s.Addr}
		for _, a := range s.Addresses {
			own = append(own, a.Prefix.Addr())
		}
		for _, a := range own {
			if a.IsValid() && (a == s.Addr || !a.IsLoopback()) && !slices.Contains(r.address[a], i) {
				r.address[a] = append(r.address[a], i)
			}
		}
	}
	for i, s := range r.systems {
		if same := r.chassis[s.Chassis.key()]; s.Chassis.Text != "" && len(same) > 1 && same[0] == i {
			r.note("%d systems have the chassis id %s (%s): their neighbours are told apart by the ports' MAC addresses, by address and by name",
				len(same), s.Chassis.Text, r.list(same))
		}
	}
}

// list names some systems.
func (r *resolver) list(of []int) string {
	var names []string
	for _, i := range of[:min(len(of), 4)] {
		name := r.systems[i].Target
		if n := r.systems[i].Name; n != "" {
			name = n + " at " + name
		}
		names = append(names, name)
	}
	if len(of) > 4 {
		names = append(names, "...")
	}
	return strings.Join(names, ", ")
}

// far returns the system that a neighbour is.
func (r *resolver) far(from int, h *Hearing) int {
	several := false
	pick := func(of []int) (int, bool) {
		// A chassis that several have, or an address that wanders: the port's MAC address tells which, or the name. (lldpd takes boxes of one chassis id
		// for one, and tells the name and the addresses of one for all; the ports it keeps apart.)
		if owner := r.mac[h.PortID.key()]; len(of) > 1 && h.PortID.Kind == KindMAC && len(owner) == 1 && slices.Contains(of, owner[0]) {
			of = owner
		} else if named := r.named(h.Name); len(of) > 1 && len(named) > 0 {
			of = slices.DeleteFunc(slices.Clone(of), func(i int) bool { return !slices.Contains(named, i) })
		}
		several = several || len(of) > 1
		if len(of) == 1 {
			return of[0], true
		}
		return 0, false
	}
	if h.Chassis.Text != "" {
		if i, ok := pick(r.chassis[h.Chassis.key()]); ok && !r.belied(from, i, h) {
			return i
		}
		if i, ok := pick(r.mac[h.Chassis.key()]); ok { // NX-OS has a chassis for every port
			return i
		}
		if a, err := netip.ParseAddr(h.Chassis.Text); err == nil && h.Chassis.Kind == KindAddress {
			if i, ok := pick(r.address[a]); ok {
				return i
			}
		}
	}
	for _, a := range h.Management {
		if i, ok := pick(r.address[a]); ok {
			return i
		}
	}
	if i, ok := pick(r.named(h.Name)); ok {
		return i
	}
	if several {
		s := r.systems[from]
		r.note("%s hears at %s what may be several systems (%s): left out", s.Target, told(h), about(h))
		return FarAmbiguous
	}
	return FarUnknown
}

// belied reports whether a neighbour is not the system of its chassis id: it has another name, and that of a system that has its address too, or
// the chassis is that of who hears it. Then the chassis id is that of several, not all of which were asked.
func (r *resolver) belied(from, i int, h *Hearing) bool {
	s := r.systems[i]
	if h.Name == "" || s.Name == "" || sameName(s.Name, h.Name) || sameName(s.SysName, h.Name) {
		return false
	}
	named := r.named(h.Name)
	return i == from || len(named) == 1 && slices.ContainsFunc(h.Management, func(a netip.Addr) bool { return slices.Equal(r.address[a], named) })
}

// named returns the systems that a name may mean: names that differ in their domain are not the same.
func (r *resolver) named(name string) []int {
	if name == "" {
		return nil
	}
	var of []int
	for _, i := range r.name[spelling.Node(name)] {
		if sameName(r.systems[i].Name, name) || sameName(r.systems[i].SysName, name) {
			of = append(of, i)
		}
	}
	return of
}

func sameName(a, b string) bool {
	if strings.EqualFold(a, b) {
		return true
	}
	form := spelling.Node(a)
	return a != "" && b != "" && form == spelling.Node(b) && (strings.EqualFold(a, form) || strings.EqualFold(b, form))
}

// doubtNames looks again at neighbours that were known by their name although the system of that name has another chassis: two boxes may have one
// name, as new ones do that nobody has named. It is the system only if the system hears the one who hears it.
func (r *resolver) doubtNames() {
	hears := map[[2]int]bool{}
	for i, s := range r.systems {
		for k := range s.Hears {
			hears[[2]int{i, s.Hears[k].Far}] = true
		}
	}
	told := map[string]bool{}
	for i, s := range r.systems {
		for k := range s.Hears {
			h := &s.Hears[k]
			if h.Far < 0 || h.Chassis.Text == "" || r.systems[h.Far].Chassis.Text == "" || r.isBox(h) || hears[[2]int{h.Far, i}] && h.Far != i {
				continue
			}
			if key := h.Chassis.key() + " " + h.Name; !told[key] {
				told[key] = true
				r.note("%s is the name of two boxes: of %s (chassis %s), and of a neighbour of %s (chassis %s)", h.Name, r.systems[h.Far].Target,
					r.systems[h.Far].Chassis.Text, s.Target, h.Chassis.Text)
			}
			h.Far = FarUnknown
			h.Name = distinct(h.Name, h.Chassis.Text)
		}
	}
}

// isBox reports whether a neighbour is known to be its system by more than its name.
func (r *resolver) isBox(h *Hearing) bool {
	key := h.Chassis.key()
	if slices.Contains(r.chassis[key], h.Far) || slices.Contains(r.mac[key], h.Far) {
		return true
	}
	if a, err := netip.ParseAddr(h.Chassis.Text); err == nil && slices.Contains(r.address[a], h.Far) {
		return true
	}
	return slices.ContainsFunc(h.Management, func(a netip.Addr) bool { return slices.Contains(r.address[a], h.Far) })
}

// distinct makes a name of a name that is used twice and of what tells its bearers apart.
func distinct(name, by string) string {
	return name + "@" + strings.NewReplacer(":", "-", ".", "-", "/", "-").Replace(by)
}

// nameSystems gives every system a name that no other has.
func (r *resolver) nameSystems() {
	for _, s := range r.systems {
		switch {
		case s.Name != "":
		case s.Chassis.Text != "":
			s.Name = s.Chassis.Text
		default:
			s.Name = s.Target
		}
	}
	shared := make([]bool, len(r.systems))
	byForm := map[string][]int{}
	for i, s := range r.systems {
		form := spelling.Node(s.Name)
		for _, k := range byForm[form] {
			if sameName(s.Name, r.systems[k].Name) {
				shared[i], shared[k] = true, true
			}
		}
		byForm[form] = append(byForm[form], i)
	}
	taken := map[string]bool{}
	for i, s := range r.systems {
		if !shared[i] {
			taken[spelling.Node(s.Name)] = true
		}
	}
	for i, s := range r.systems {
		if !shared[i] {
			continue
		}
		was := s.Name
		by := s.Chassis.Text
		if by == "" || len(r.chassis[s.Chassis.key()]) > 1 {
			by = s.Target
		}
		s.Name = distinct(spelling.Node(was), by)
		if taken[s.Name] {
			s.Name = distinct(s.Name, s.Target)
		}
		taken[s.Name] = true
		r.note("%s is the name of several systems: the one at %s is called %s", was, s.Target, s.Name)
	}
}

// told is where a system heard a neighbour.
func told(h *Hearing) string {
	if h.Port != "" {
		return h.Port
	}
	return fmt.Sprintf("%s port %d", h.Protocol, h.Number)
}

// about is what a neighbour tells of itself.
func about(h *Hearing) string {
	var parts []string
	for _, p := range []struct{ what, text string }{{"name", h.Name}, {"chassis", h.Chassis.Text}, {"port", h.PortID.Text}} {
		if p.text != "" {
			parts = append(parts, p.what+" "+p.text)
		}
	}
	return strings.Join(parts, ", ")
}
