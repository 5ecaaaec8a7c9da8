package snmp

import (
	"context"
	"errors"
	"math"
	"strconv"
	"time"

	"whichlink/internal/evidence"
)

// Limits of light seldom change: they are read when light is first told of a lane, and then once an hour.

const limitsLast = time.Hour

// A lightPlace is where light is told: what a lane of a port receives or sends.
type lightPlace struct {
	port     uint32
	lane     int
	receives bool
}

// everyLane stands for all lanes of a port whose module has limits for them together.
const everyLane = -1

// The limits of a lane, in dBm, NaN where there is none; in the order in which they have to rise.
const (
	lowAlarm = iota
	lowWarning
	highWarning
	highAlarm
	limitKinds
)

type limitsRead map[lightPlace]*[limitKinds]float64

// take notes a limit. Of several that mean the same the narrowest holds.
func (m limitsRead) take(at lightPlace, kind int, dbm float64) {
	if !(dbm > evidence.Darkest && dbm < evidence.Brightest) {
		return
	}
	l := m[at]
	if l == nil {
		l = &[limitKinds]float64{math.NaN(), math.NaN(), math.NaN(), math.NaN()}
		m[at] = l
	}
	old := l[kind]
	if narrower := kind <= lowWarning && dbm > old || kind > lowWarning && dbm < old; math.IsNaN(old) || narrower {
		l[kind] = dbm
	}
}

// recorded returns limits as records have them; nil where they make no sense: agents write zeros for a module that has none.
func recorded(l *[limitKinds]float64) *evidence.LightLimits {
	before := math.Inf(-1)
	var at [limitKinds]*float64
	some := false
	for i, v := range l {
		if math.IsNaN(v) {
			continue
		}
		if v < before || i == highWarning && v <= before {
			return nil
		}
		before, some = v, true
		rounded := math.Round(v*100) / 100
		at[i] = &rounded
	}
	if !some {
		return nil
	}
	return &evidence.LightLimits{LowAlarm: at[lowAlarm], LowWarning: at[lowWarning], HighWarning: at[highWarning], HighAlarm: at[highAlarm]}
}

// portLimits are tables of limits by port: their first columns of what is received and sent, in which order the four follow, and what they are in.
// JUNIPER-DOM-MIB (jnxDomCurrentRxLaserPowerHighAlarmThreshold and what follows), HH3C-TRANSCEIVER-INFO-MIB (hh3cTransceiverRcvPwrHiAlarm; PwrOutHiAlarm),
// TIMETRA-PORT-MIB (tmnxDDMRxOpticalPowerLowWarning; TxOutputPowerLowWarning).
var portLimits = []struct {
	table          string
	receives, sent int
	order          [limitKinds]int
	dbm            func(n int64) float64
}{
	{"1.3.6.1.4.1.2636.3.60.1.1.1.1.", 9, 17, [limitKinds]int{highAlarm, lowAlarm, highWarning, lowWarning}, func(n int64) float64 { return float64(n) / 100 }},
	{"1.3.6.1.4.1.25506.2.70.1.1.1.", 34, 30, [limitKinds]int{highAlarm, lowAlarm, highWarning, lowWarning}, tenthMicrowatts},
	{"1.3.6.1.4.1.6527.3.1.2.2.4.31.1.", 22, 17, [limitKinds]int{lowWarning, lowAlarm, highWarning, highAlarm}, tenthMicrowatts},
}

func tenthMicrowatts(n int64) float64 {
	dbm, lit := microwatts(float64(n) / 10)
	if !lit {
		return math.NaN()
	}
	return dbm
}

// The columns of limits of sensors, by the sensor's entity: entSensorThresholdSeverity, Relation and Value of CISCO-ENTITY-SENSOR-MIB with a number of the limit's own, and
// ARISTA-ENTITY-SENSOR-MIB, which has limits for the sensors of ENTITY-SENSOR-MIB.
var (
	ciscoLimits  = []string{"1.3.6.1.4.1.9.9.91.1.2.1.1.2", "1.3.6.1.4.1.9.9.91.1.2.1.1.3", "1.3.6.1.4.1.9.9.91.1.2.1.1.4"}
	aristaLimits = []string{"1.3.6.1.4.1.30065.3.12.1.1.1.1", "1.3.6.1.4.1.30065.3.12.1.1.1.2", "1.3.6.1.4.1.30065.3.12.1.1.1.3", "1.3.6.1.4.1.30065.3.12.1.1.1.4"}
)

// limits puts the limits of light to the lanes, and reads them where it is time.
func (o *optics) limits(ctx context.Context) error {
	v := &o.vendor
	lit := map[lightPlace]bool{}
	anew := o.Time.Sub(v.limited) > limitsLast
	for port, lanes := range o.lanes {
		for _, l := range lanes {
			for _, at := range []lightPlace{{port, l.Lane, true}, {port, l.Lane, false}} {
				lit[at] = true
				anew = anew || !v.limitedOf[at]
			}
		}
	}
	var err error
	if o.full && anew && len(lit) > 0 {
		read := limitsRead{}
		err = errors.Join(o.limitsOfPorts(ctx, read), o.limitsOfCisco(ctx, read), o.limitsOfArista(ctx, read))
		v.limited, v.limitedOf, v.limits = o.Time, lit, map[lightPlace]*evidence.LightLimits{}
		for at, l := range read {
			v.limits[at] = recorded(l)
		}
	}
	for port, lanes := range o.lanes {
		for i := range lanes {
			l := &lanes[i]
			l.RxLimits, l.TxLimits = v.limitsAt(lightPlace{port, l.Lane, true}, lanes), v.limitsAt(lightPlace{port, l.Lane, false}, lanes)
			if l.Rx == nil {
				l.RxLimits = nil
			}
			if l.Tx == nil {
				l.TxLimits = nil
			}
		}
	}
	return err
}

// limitsAt finds the limits of a lane. Those of a module are its lanes', and of what it tells as a whole only where it has none.
func (v *vendorTables) limitsAt(at lightPlace, lanes []evidence.Lane) *evidence.LightLimits {
	if l := v.limits[at]; l != nil {
		return l
	}
	if at.lane == 0 && len(lanes) > 1 {
		return nil
	}
	return v.limits[lightPlace{at.port, everyLane, at.receives}]
}

func (o *optics) limitsOfPorts(ctx context.Context, read limitsRead) error {
	var columns []string
	for i := range portLimits {
		t := &portLimits[i]
		for _, first := range []int{t.receives, t.sent} {
			for j := range limitKinds {
				columns = append(columns, t.table+strconv.Itoa(first+j))
			}
		}
	}
	return o.session.Sweep(ctx, nil, columns, func(c Cell) {
		if len(c.Index) == 0 || !c.Value.IsNumber() {
			return
		}
		t := &portLimits[c.Column/(2*limitKinds)]
		port, ok := c.Index[len(c.Index)-1:].port() // Nokia's has the chassis before it
		if ok {
			read.take(lightPlace{port, everyLane, c.Column/limitKinds%2 == 0}, t.order[c.Column%limitKinds], t.dbm(int64(c.Value.Number)))
		}
	}, nil)
}

// limitsOfCisco reads limits of any severity and relation: minor ones are warnings, major and critical ones alarms.
func (o *optics) limitsOfCisco(ctx context.Context, read limitsRead) error {
	if len(o.placed[true]) == 0 {
		return nil
	}
	type row struct{ severity, relation, value int64 }
	rows := map[[2]uint32]*row{}
	err := o.session.Sweep(ctx, nil, ciscoLimits, func(c Cell) {
		if len(c.Index) != 2 || !c.Value.IsNumber() {
			return
		}
		at := [2]uint32{c.Index[0], c.Index[1]}
		if rows[at] == nil {
			rows[at] = &row{}
		}
		n := int64(c.Value.Number)
		switch c.Column {
		case 0:
			rows[at].severity = n
		case 1:
			rows[at].relation = n
		case 2:
			rows[at].value = n
		}
	}, nil)
	for at, r := range rows {
		p, ok := o.placed[true][at[0]]
		low, alarm := r.relation == 1 || r.relation == 2, r.severity == 20 || r.severity == 30
		if !ok || !low && r.relation != 3 && r.relation != 4 || !alarm && r.severity != 10 {
			continue
		}
		kind := map[[2]bool]int{{true, true}: lowAlarm, {true, false}: lowWarning, {false, false}: highWarning, {false, true}: highAlarm}[[2]bool{low, alarm}]
		if dbm, ok := p.sensor.power(r.value); ok {
			read.take(p.lightPlace, kind, dbm)
		}
	}
	return err
}

func (o *optics) limitsOfArista(ctx context.Context, read limitsRead) error {
	if len(o.placed[false]) == 0 {
		return nil
	}
	return o.session.Sweep(ctx, nil, aristaLimits, func(c Cell) {
		index, ok := c.Index.port()
		p, placed := o.placed[false][index]
		if !ok || !placed || !c.Value.IsNumber() {
			return
		}
		if dbm, ok := p.sensor.power(int64(c.Value.Number)); ok {
			read.take(p.lightPlace, [limitKinds]int{lowWarning, lowAlarm, highWarning, highAlarm}[c.Column], dbm)
		}
	}, nil)
}
