package snmp

import (
	"cmp"
	"context"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"whichlink/internal/evidence"
)

// An optics gathers the light of an agent's transceivers.
type optics struct {
	*reader
	lanes map[uint32][]evidence.Lane
	// modules is what was told of entities, whose ports are still to be found.
	modules []moduleLight
	// transceivers is what was told of transceivers by numbers of their own, places in which ports these are.
	transceivers []moduleLight
	places       map[uint32]string
	names        map[string]uint32 // of ports, made when first asked
	// placed are the sensors whose place was found, by their entity: those of Cisco's own table, and those of the standard's.
	placed map[bool]map[uint32]placedSensor
}

// A placedSensor is a sensor of light whose place is known.
type placedSensor struct {
	lightPlace
	sensor *sensor
}

// light notes the power that a lane receives or sends, in dBm.
func (o *optics) light(index uint32, lane int, receives bool, dbm float64) {
	if !(dbm > evidence.Darkest && dbm < evidence.Brightest) || o.ports[index] == nil {
		return
	}
	lanes := o.lanes[index]
	i := slices.IndexFunc(lanes, func(l evidence.Lane) bool { return l.Lane == lane })
	if i < 0 {
		lanes = append(lanes, evidence.Lane{Lane: lane})
		slices.SortFunc(lanes, func(a, b evidence.Lane) int { return cmp.Compare(a.Lane, b.Lane) })
		i = slices.IndexFunc(lanes, func(l evidence.Lane) bool { return l.Lane == lane })
	}
	dbm = math.Round(dbm*100) / 100
	if receives {
		lanes[i].Rx = &dbm
	} else {
		lanes[i].Tx = &dbm
	}
	o.lanes[index] = lanes
}

// A sensor is a row of ENTITY-SENSOR-MIB (RFC 3433) or CISCO-ENTITY-SENSOR-MIB, which differ in that Cisco's knows dBm.
type sensor struct {
	kind, scale, precision, status int64
	value                          int64
	units                          string
	valued                         bool
}

// The types of sensors that tell light.
const (
	sensorOther = 1
	sensorWatts = 6
	sensorDBm   = 14
)

// dbm is the light that a sensor tells. Arista and SONiC tell watts, and none as 0 or less; Cisco dBm, and no light as exactly 0.
func (s *sensor) dbm() (float64, bool) {
	if !s.valued || s.status > 1 || s.scale < 1 || s.scale > 17 || s.precision < -8 || s.precision > 9 {
		return 0, false
	}
	if s.kind == sensorDBm && s.value == 0 {
		return 0, false
	}
	return s.power(s.value)
}

// power is what a value of a sensor of light means in dBm, be it measured or a limit.
func (s *sensor) power(value int64) (float64, bool) {
	v := float64(value) * math.Pow(10, float64(3*(s.scale-9)-s.precision))
	switch {
	case s.kind == sensorWatts && value > 0:
		return 10 * math.Log10(v*1000), true
	case s.kind == sensorDBm, s.kind == sensorOther && strings.EqualFold(s.units, "dBm"):
		return v, true
	}
	return 0, false
}

// An entity is a row of ENTITY-MIB (RFC 6933).
type entity struct {
	name, descr string
	parent      uint32
	port        uint32 // by entAliasMappingIdentifier
}

// sensors reads the sensors of light and finds their ports.
func (o *optics) sensors(ctx context.Context) error {
	const standard, cisco = "1.3.6.1.2.1.99.1.1.1.", "1.3.6.1.4.1.9.9.91.1.1.1.1."
	for _, table := range []string{standard, cisco} {
		sensors := map[uint32]*sensor{}
		columns := []string{table + "1", table + "2", table + "3", table + "4", table + "5"}
		if table == standard {
			columns = append(columns, table+"6")
		}
		err := o.session.Sweep(ctx, nil, columns, func(c Cell) {
			if index, ok := c.Index.port(); ok {
				if sensors[index] == nil {
					sensors[index] = &sensor{}
				}
				sensors[index].take(c)
			}
		}, nil)
		if err != nil {
			return err
		}
		if err := o.place(ctx, sensors, table == cisco); err != nil {
			return err
		}
	}
	return nil
}

func (s *sensor) take(c Cell) {
	n := int64(c.Value.Number)
	switch c.Column {
	case 0:
		s.kind = n
	case 1:
		s.scale = n
	case 2:
		s.precision = n
	case 3:
		s.value, s.valued = n, c.Value.IsNumber()
	case 4:
		s.status = n
	case 5:
		s.units = c.Value.Text
	}
}

// place finds the ports of sensors by what ENTITY-MIB says of them, which is read only if there are any that tell light.
func (o *optics) place(ctx context.Context, sensors map[uint32]*sensor, cisco bool) error {
	lit := map[uint32]float64{}
	var order []uint32
	for index, s := range sensors {
		if v, ok := s.dbm(); ok {
			lit[index] = v
			order = append(order, index)
		}
	}
	if len(lit) == 0 {
		return nil
	}
	slices.Sort(order)
	entities, err := o.entities(ctx)
	ports := o.byName()
	for _, index := range order {
		e := entities[index]
		text := e.name
		if text == "" {
			text = e.descr
		}
		receives, sends := direction(text)
		if receives == sends {
			continue
		}
		port, lane, ok := portOf(text, ports)
		if !ok {
			port, ok = o.portOfEntity(entities, ports, index)
		}
		if ok {
			o.light(port, lane, receives, lit[index])
			if o.placed[cisco] == nil {
				o.placed[cisco] = map[uint32]placedSensor{}
			}
			o.placed[cisco][index] = placedSensor{lightPlace{port, lane, receives}, sensors[index]}
		}
	}
	return err
}

// portOfEntity finds the port that an entity is in.
func (o *optics) portOfEntity(entities map[uint32]entity, ports map[string]uint32, index uint32) (port uint32, ok bool) {
	for range 8 {
		e := entities[index]
		if port, ok = e.port, e.port != 0; !ok {
			if port, ok = ports[e.name]; !ok {
				port, ok = ports[e.descr]
			}
		}
		if ok {
			break
		}
		index = e.parent
	}
	return port, ok
}

// entities reads what is where.
func (o *optics) entities(ctx context.Context) (map[uint32]entity, error) {
	const physical, mapping = "1.3.6.1.2.1.47.1.1.1.1.", "1.3.6.1.2.1.47.1.3.2.1.2"
	all := map[uint32]entity{}
	err := o.session.Sweep(ctx, nil, []string{physical + "7", physical + "2", physical + "4", mapping}, func(c Cell) {
		index, ok := c.Index[:1].port() // the mapping's index has the logical entity, too
		if !ok {
			return
		}
		e := all[index]
		switch c.Column {
		case 0:
			e.name = c.Value.Text
		case 1:
			e.descr = c.Value.Text
		case 2:
			e.parent = uint32(c.Value.Number)
		case 3:
			if n, ok := strings.CutPrefix(c.Value.Text, ifEntry+"1."); ok {
				e.port, _ = portIndex(n)
			}
		}
		all[index] = e
	}, nil)
	return all, err
}

// byName returns the ports by ifName, ifDescr and alias, where these are unique.
func (o *optics) byName() map[string]uint32 {
	if o.names != nil {
		return o.names
	}
	ports := map[string]uint32{}
	for index, l := range o.labels {
		for _, n := range []string{l.name, l.descr, l.alias} {
			if old, ok := ports[n]; ok && old != index {
				ports[n] = 0
			} else if n != "" {
				ports[n] = index
			}
		}
	}
	for n, index := range ports {
		if index == 0 {
			delete(ports, n)
		}
	}
	o.names = ports
	return ports
}

// direction tells whether a sensor is of light that is received or sent, by its name.
func direction(text string) (receives, sends bool) {
	text = strings.ToLower(text)
	if !strings.Contains(text, "power") {
		return false, false
	}
	return strings.Contains(text, "rx ") || strings.Contains(text, "receive"), strings.Contains(text, "tx ") || strings.Contains(text, "transmit")
}

var lanePhrase = regexp.MustCompile(`(?i)\blane (\d{1,2})\b`)

// portOf finds the port in a sensor's name, as "DOM RX Power Sensor for Ethernet1", the same with "/2" for the lane, and
// "Ethernet1/1 Lane 1 Transceiver Receive Power Sensor" have it.
func portOf(text string, ports map[string]uint32) (port uint32, lane int, ok bool) {
	if m := lanePhrase.FindStringSubmatch(text); m != nil {
		lane, _ = strconv.Atoi(m[1])
	}
	candidates := strings.Fields(text)
	if _, rest, found := strings.Cut(text, " for "); found {
		candidates = append([]string{rest}, candidates...)
	}
	for _, c := range candidates {
		if _, err := strconv.Atoi(c); err == nil { // a bare number may be that of a lane
			continue
		}
		if port, ok = ports[c]; ok {
			return port, lane, true
		}
	}
	for _, c := range candidates {
		if i := strings.LastIndexByte(c, '/'); i > 0 {
			if n, err := strconv.Atoi(c[i+1:]); err == nil && n > 0 {
				if port, ok = ports[c[:i]]; ok {
					return port, n, true
				}
			}
		}
	}
	return 0, lane, false
}
