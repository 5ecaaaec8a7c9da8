package snmp

import (
	"context"
	"math"
	"strconv"
	"strings"
)

// A lightColumn is a column of a vendor's own table of light.
type lightColumn struct {
	oid      string
	receives bool
	// read takes in one cell.
	read func(o *optics, index OID, receives bool, v Value)
}

// vendorLight are the vendors' columns, all of which are asked for at once: JUNIPER-DOM-MIB, HH3C-TRANSCEIVER-INFO-MIB, TIMETRA-PORT-MIB (Nokia SR OS),
// HUAWEI-ENTITY-EXTENT-MIB, WWP-LEOS-PORT-XCVR-MIB (Ciena SAOS 6: wwpLeosPortXcvrRxDbmPower and TxDbmPower) and CIENA-CES-PORT-XCVR-MIB (SAOS 8: cienaCesPortXcvrRxPower,
// TxOutputPower and PortName). Of each but Nokia's, a module's own comes before those of its lanes.
var vendorLight = []lightColumn{
	{"1.3.6.1.4.1.2636.3.60.1.1.1.1.5", true, hundredths}, {"1.3.6.1.4.1.2636.3.60.1.1.1.1.7", false, hundredths},
	{"1.3.6.1.4.1.2636.3.60.1.2.1.1.6", true, hundredths}, {"1.3.6.1.4.1.2636.3.60.1.2.1.1.8", false, hundredths},
	{"1.3.6.1.4.1.25506.2.70.1.1.1.12", true, hundredths}, {"1.3.6.1.4.1.25506.2.70.1.1.1.9", false, hundredths},
	{"1.3.6.1.4.1.6527.3.1.2.2.4.31.1.21", true, tenthsOfMicrowatts}, {"1.3.6.1.4.1.6527.3.1.2.2.4.31.1.16", false, tenthsOfMicrowatts},
	{"1.3.6.1.4.1.6527.3.1.2.2.4.66.1.17", true, tenthsOfMicrowatts}, {"1.3.6.1.4.1.6527.3.1.2.2.4.66.1.12", false, tenthsOfMicrowatts},
	{huaweiModule + "8", true, huaweiPower}, {huaweiModule + "9", false, huaweiPower},
	{huaweiModule + "32", true, huaweiLanes}, {huaweiModule + "33", false, huaweiLanes},
	{"1.3.6.1.4.1.6141.2.60.4.1.1.1.1.105", true, tenThousandths}, {"1.3.6.1.4.1.6141.2.60.4.1.1.1.1.106", false, tenThousandths},
	{cienaTransceiver + "6", true, transceiverMicrowatts}, {cienaTransceiver + "35", false, transceiverMicrowatts}, {cienaTransceiver + "40", false, transceiverPort},
}

const (
	huaweiModule     = "1.3.6.1.4.1.2011.5.25.31.1.1.3.1." // hwOpticalModuleInfoTable, by entPhysicalIndex
	cienaTransceiver = "1.3.6.1.4.1.1271.2.1.9.1.1.1.1."   // cienaCesPortXcvrTable, by a number of the transceiver's own
)

// vendors reads the light that vendors tell in tables of their own.
func (o *optics) vendors(ctx context.Context) error {
	oids := make([]string, len(vendorLight))
	for i := range vendorLight {
		oids[i] = vendorLight[i].oid
	}
	err := o.session.Sweep(ctx, nil, oids, func(c Cell) {
		vendorLight[c.Column].read(o, c.Index, vendorLight[c.Column].receives, c.Value)
	}, nil)
	ports := o.byName()
	for _, t := range o.transceivers {
		if port, ok := ports[o.places[t.entity]]; ok {
			o.light(port, t.lane, t.receives, t.dbm)
		}
	}
	if len(o.modules) == 0 || err != nil {
		return err
	}
	entities, err := o.entities(ctx)
	for _, m := range o.modules {
		if port, ok := o.portOfEntity(entities, ports, m.entity); ok {
			o.light(port, m.lane, m.receives, m.dbm)
		}
	}
	return err
}

// A moduleLight is light that is told of an entity.
type moduleLight struct {
	entity   uint32
	lane     int
	receives bool
	dbm      float64
}

// hundredths reads hundredths of a dBm by ifIndex, and by ifIndex and lane (from 0) where a transceiver has several. It is 0 where there is no module.
func hundredths(o *optics, index OID, receives bool, v Value) {
	if len(index) == 0 || len(index) > 2 {
		return
	}
	port, ok := index[:1].port()
	lane := 0
	if len(index) == 2 {
		lane = int(min(index[1], 1024)) + 1
	}
	if ok && v.IsNumber() && v.Number != 0 {
		o.light(port, lane, receives, float64(int64(v.Number))/100)
	}
}

// tenthsOfMicrowatts reads Nokia's by chassis and port, which is the ifIndex, and lane (from 1) where there are several. It is 0 where there is no light.
func tenthsOfMicrowatts(o *optics, index OID, receives bool, v Value) {
	if len(index) < 2 || len(index) > 3 || !v.IsNumber() {
		return
	}
	lane := 0
	if len(index) == 3 {
		lane = int(min(index[2], 1024))
	}
	if dbm, lit := microwatts(float64(int64(v.Number)) / 10); lit {
		o.light(index[1], lane, receives, dbm)
	}
}

// huaweiPower reads what a module with one lane tells: microwatts, or hundredths of a dBm where it is below 0, of which -1 means none.
func huaweiPower(o *optics, index OID, receives bool, v Value) {
	entity, ok := index.port()
	n := int64(v.Number)
	if !ok || !v.IsNumber() || n == 0 || n == -1 {
		return
	}
	dbm, lit := microwatts(float64(n))
	if !lit {
		dbm = float64(n) / 100
	}
	o.modules = append(o.modules, moduleLight{entity, 0, receives, dbm})
}

// huaweiLanes reads a text with a number for each lane, in hundredths of a dBm. That of one lane is the module's, told more exactly.
func huaweiLanes(o *optics, index OID, receives bool, v Value) {
	entity, ok := index.port()
	if !ok || v.Text == "" {
		return
	}
	words := strings.Split(v.Text, ",")
	for i, word := range words {
		n, err := strconv.ParseFloat(strings.TrimSpace(word), 64)
		if err != nil || n == 0 || len(words) > 64 {
			continue
		}
		lane := i + 1
		if len(words) == 1 {
			lane = 0
		}
		o.modules = append(o.modules, moduleLight{entity, lane, receives, n / 100})
	}
}

// tenThousandths reads ten-thousandths of a dBm by the number of the port, which is its name. It is 0 where there is no module.
func tenThousandths(o *optics, index OID, receives bool, v Value) {
	n, ok := index.port()
	if !ok || !v.IsNumber() || v.Number == 0 {
		return
	}
	if port, ok := o.byName()[strconv.FormatUint(uint64(n), 10)]; ok {
		o.light(port, 0, receives, float64(int64(v.Number))/10_000)
	}
}

// transceiverMicrowatts reads microwatts by the number of a transceiver. It is 0 where there is no light.
func transceiverMicrowatts(o *optics, index OID, receives bool, v Value) {
	n, ok := index.port()
	if dbm, lit := microwatts(float64(int64(v.Number))); ok && v.IsNumber() && lit {
		o.transceivers = append(o.transceivers, moduleLight{n, 0, receives, dbm})
	}
}

// transceiverPort reads the name of the port that a transceiver is in.
func transceiverPort(o *optics, index OID, _ bool, v Value) {
	if n, ok := index.port(); ok {
		o.places[n] = v.Text
	}
}

// microwatts turns power into dBm; false where there is none.
func microwatts(uw float64) (dbm float64, lit bool) {
	if uw <= 0 {
		return 0, false
	}
	return 10 * math.Log10(uw/1000), true
}
