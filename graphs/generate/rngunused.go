package generate

import (
	"math/rand/v2"
	"slices"
)

// A lot is one or two r-ports of a room that are left unused, or used, together.
type lot []int32

// vacancies are the lots of a room and a kind of box, as they are dealt: those in use and those unused.
type vacancies struct{ full, empty []lot }

// A search for something better tries so many random changes to mend one thing that is wrong, and ends after so many rounds in a row that
// mended next to nothing.
const (
	searchTries = 24
	patience    = 3
)

// chooseUnused leaves as many r-ports of every panel unused as are not needed: random ones at first, which are then exchanged with others as
// long as that saves lanes. A lane that meets an unused r-port is bounced to another box; a few in a row, and it has too many connectors.
func (p *Plant) chooseUnused(rng *rand.Rand) {
	p.used = make([]bool, p.rooms*p.boxes*p.box.rPorts)
	for r := range p.used {
		p.used[r] = true
	}
	groups := make([]vacancies, p.rooms*len(p.kinds))
	for room := range p.rooms {
		for i := range p.kinds {
			groups[room*len(p.kinds)+i] = p.vacate(rng, room, &p.kinds[i])
		}
	}
	where := make(map[int32][2]int32, len(groups)) // by unused r-port: its group and lot
	for g := range groups {
		for i, l := range groups[g].empty {
			for _, r := range l {
				where[r] = [2]int32{int32(g), int32(i)}
			}
		}
	}
	lost := p.lost()
	for idle := 0; len(lost) > 0 && idle < patience; {
		for _, fibre := range lost {
			p.rescue(rng, fibre, groups, where)
		}
		before := len(lost)
		lost = p.lost()
		idle++
		if before-len(lost) > before/50 {
			idle = 0
		}
	}
}

// vacate makes the first choice for the boxes of one kind in a room.
func (p *Plant) vacate(rng *rand.Rand, room int, k *boxKind) vacancies {
	lots := p.lots(room, k)
	rng.Shuffle(len(lots), func(i, j int) { lots[i], lots[j] = lots[j], lots[i] })
	spare := (k.to-k.from)*p.box.rPorts - (p.first[room+1]-p.first[room])*k.transceivers
	var v vacancies
	for _, l := range lots {
		switch {
		case spare >= len(l):
			v.empty = append(v.empty, l)
		case spare > 0: // half of a lot of two; it stays as it is
			l = l[:spare]
		default:
			v.full = append(v.full, l)
			continue
		}
		for _, r := range l {
			p.used[r] = false
		}
		spare -= len(l)
	}
	return v
}

func (p *Plant) lots(room int, k *boxKind) []lot {
	var lots []lot
	for box := k.from; box < k.to; box++ {
		first := int32((room*p.boxes + box) * p.box.rPorts)
		switch {
		case k.width%2 == 0:
			for r := range int32(p.box.rPorts) {
				lots = append(lots, lot{first + r})
			}
		case box >= k.to-k.sealed:
			for pair := range slices.Chunk(p.box.rPort[k.width-1], 2) {
				lots = append(lots, lot{first + pair[0], first + pair[1]})
			}
		}
	}
	return lots
}

// lost lists the lanes that arrive nowhere.
func (p *Plant) lost() []int32 {
	var lost []int32
	for fibre := range int32(len(p.used) * p.box.cPorts) {
		if p.isLost(fibre) {
			lost = append(lost, fibre)
		}
	}
	return lost
}

// rescue tries to exchange an unused lot that a lost lane meets for a used one of the same room.
func (p *Plant) rescue(rng *rand.Rand, fibre int32, groups []vacancies, where map[int32][2]int32) {
	if !p.isLost(fibre) {
		return // mended by an exchange before
	}
	var met [][2]int32
	p.trace(fibre, func(f int32) {
		if place, ok := where[p.rPortOf(f)]; ok {
			met = append(met, place)
		}
	})
	if len(met) == 0 {
		return
	}
	place := met[rng.IntN(len(met))]
	g := &groups[place[0]]
	if len(g.full) == 0 {
		return
	}
	empty := &g.empty[place[1]]
	for range searchTries {
		full := &g.full[rng.IntN(len(g.full))]
		if !p.exchange(*empty, *full) {
			continue
		}
		for _, r := range *empty {
			delete(where, r)
		}
		*empty, *full = *full, *empty
		for _, r := range *empty {
			where[r] = place
		}
		return
	}
}

// exchange uses an unused lot and leaves a used one unused, if no more lanes are lost that way: what is no better may lead to it.
func (p *Plant) exchange(empty, full lot) bool {
	changed := slices.Concat(empty, full)
	ends := p.around(changed)
	set := func(used bool) {
		for _, r := range empty {
			p.used[r] = used
		}
		for _, r := range full {
			p.used[r] = !used
		}
	}
	before := p.lostOf(ends, changed)
	set(true)
	if p.lostOf(ends, changed) <= before {
		return true
	}
	set(false)
	return false
}

// around lists the lanes of other r-ports whose way may depend on whether some r-ports are in use.
func (p *Plant) around(rPorts []int32) []int32 {
	var ends []int32
	for _, r := range rPorts {
		for k := range int32(p.box.cPorts) {
			at := r*int32(p.box.cPorts) + k
			for connectors := int8(1); connectors < maxConnectors; {
				beyond, more := p.across(at)
				connectors += more + 1
				if p.used[p.rPortOf(beyond)] || slices.Contains(rPorts, p.rPortOf(beyond)) {
					if p.lit(beyond) && !slices.Contains(rPorts, p.rPortOf(beyond)) {
						ends = append(ends, beyond)
					}
					break
				}
				next, ok := p.bridge(beyond)
				if !ok {
					break
				}
				at = next
			}
		}
	}
	slices.Sort(ends)
	return slices.Compact(ends)
}

// lostOf counts the lanes that arrive nowhere, of some ends and of all lanes of some r-ports.
func (p *Plant) lostOf(ends, rPorts []int32) int {
	lost := 0
	count := func(fibre int32) {
		if p.isLost(fibre) {
			lost++
		}
	}
	for _, f := range ends {
		count(f)
	}
	for _, r := range rPorts {
		for k := range int32(p.box.cPorts) {
			count(r*int32(p.box.cPorts) + k)
		}
	}
	return lost
}
