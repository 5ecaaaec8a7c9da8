package snmp

// The objects that are read (RFC 2863, RFC 3411, RFC 3418, RFC 2790, RFC 3635, RFC 3433, RFC 6933), without a leading dot.
const (
	oidSysUpTime       = "1.3.6.1.2.1.1.3.0"
	oidSysName         = "1.3.6.1.2.1.1.5.0"
	oidEngineBoots     = "1.3.6.1.6.3.10.2.1.2.0"
	oidEngineTime      = "1.3.6.1.6.3.10.2.1.3.0"
	oidSystemUptime    = "1.3.6.1.2.1.25.1.1.0"                       // hrSystemUptime: of the box, where sysUpTime is the agent's
	oidTableLastChange = "1.3.6.1.2.1.31.1.5.0"                       // ifTableLastChange
	oidCacheTimeout    = "1.3.6.1.4.1.8072.1.5.3.1.2.1.3.6.1.2.1.2.2" // net-snmp's nsCacheTimeout of ifTable, in seconds

	oidBridgePort = "1.3.6.1.2.1.17.1.4.1.2" // dot1dBasePortIfIndex

	ifEntry   = "1.3.6.1.2.1.2.2.1."
	ifXEntry  = "1.3.6.1.2.1.31.1.1.1."
	dot3Stats = "1.3.6.1.2.1.10.7.2.1."
	dot3Pause = "1.3.6.1.2.1.10.7.10.1."
	dot3HC    = "1.3.6.1.2.1.10.7.11.1."

	cpfcPort     = "1.3.6.1.4.1.9.9.813.1.1.1." // CISCO-PFC-EXT-MIB, also SONiC
	cpfcPriority = "1.3.6.1.4.1.9.9.813.1.2.1."
	ieeePFC      = "1.3.111.2.802.1.1.21.1.1.1."   // IEEE8021-PFC-MIB
	mellanoxQoS  = "1.3.6.1.4.1.33049.15.1."       // MELLANOX-QOS-MIB (Onyx)
	aristaIf     = "1.3.6.1.4.1.30065.3.15.1.1.1." // ARISTA-IF-MIB aristaIfEntry
	csqStats     = "1.3.6.1.4.1.9.9.580.1.5.5.1.4" // CISCO-SWITCH-QOS-MIB csqIfQosGroupStatsValue, also SONiC
)

// A Counter is something that a port counts.
type Counter uint8

// The counters of a port, as [evidence.Counters] has them.
const (
	InOctets Counter = iota
	InUnicast
	InErrors
	InDiscards
	InFCS
	InPause
	OutOctets
	OutUnicast
	OutErrors
	OutDiscards
	OutPause
	counters
)

// What a column of IF-MIB is, besides a counter.
const (
	adminStatus = counters + iota
	operStatus
	lastChange
	discontinuity
	sampled // the value of sysUpTime at which the counters were read from the hardware
)

// A column says what a port's column means.
type column struct {
	oid  string
	is   Counter
	wide bool // 64 bits
}

// basic columns are those that every switch has; extra ones are left out where a first reading found none. Of two columns of one counter the
// later, which is the wider, counts.
var (
	basicColumns = []column{
		{ifEntry + "7", adminStatus, false}, {ifEntry + "8", operStatus, false}, {ifEntry + "9", lastChange, false},
		{ifEntry + "13", InDiscards, false}, {ifEntry + "14", InErrors, false},
		{ifEntry + "19", OutDiscards, false}, {ifEntry + "20", OutErrors, false},
		{ifXEntry + "6", InOctets, true}, {ifXEntry + "7", InUnicast, true},
		{ifXEntry + "10", OutOctets, true}, {ifXEntry + "11", OutUnicast, true},
		{ifXEntry + "19", discontinuity, false},
	}
	extraColumns = []column{
		{dot3Stats + "3", InFCS, false}, {dot3HC + "2", InFCS, true},
		{dot3Pause + "3", InPause, false}, {dot3Pause + "5", InPause, true},
		{dot3Pause + "4", OutPause, false}, {dot3Pause + "6", OutPause, true},
		{aristaIf + "1", sampled, false}, // aristaIfCounterLastUpdated
	}
	narrowColumns = []column{
		{ifEntry + "10", InOctets, false}, {ifEntry + "11", InUnicast, false},
		{ifEntry + "16", OutOctets, false}, {ifEntry + "17", OutUnicast, false},
	}
)

// optionalTables are the subtrees of which an agent has some at most: what sweeps ask for besides IF-MIB lies in them.
var optionalTables = []string{
	"1.3.6.1.2.1.10.7.2", "1.3.6.1.2.1.10.7.10", "1.3.6.1.2.1.10.7.11", // EtherLike-MIB
	"1.3.6.1.2.1.16.1.1",                                        // RMON-MIB
	"1.3.6.1.4.1.9.9.813.1", "1.3.111.2.802.1.1.21.1", csqStats, // PFC, queues
	"1.3.6.1.2.1.99.1.1", "1.3.6.1.4.1.9.9.91.1.1.1", "1.3.6.1.4.1.9.9.91.1.2.1", "1.3.6.1.4.1.30065.3.12.1.1", // sensors, and their limits
	"1.3.6.1.4.1.2636.3.60.1", "1.3.6.1.4.1.25506.2.70.1", "1.3.6.1.4.1.6527.3.1.2.2.4.31", "1.3.6.1.4.1.6527.3.1.2.2.4.66", "1.3.6.1.4.1.2011.5.25.31.1.1.3",
	"1.3.6.1.4.1.6141.2.60.4.1", "1.3.6.1.4.1.1271.2.1.9.1", // light
	"1.0.8802.1.1.2.1", "1.3.111.2.802.1.1.13.1", "1.3.6.1.4.1.9.9.23.1", // LLDP, CDP
}

// The columns of what seldom changes, in the order of the constants.
var labelColumns = []string{ifEntry + "2", ifEntry + "3", ifEntry + "5", ifEntry + "6", ifXEntry + "1", ifXEntry + "15", ifXEntry + "18"}

const (
	labelDescr = iota
	labelType
	labelSpeed
	labelAddress
	labelName
	labelHighSpeed
	labelAlias
)

// statuses are the words of IF-MIB for ifOperStatus and ifAdminStatus.
var statuses = [...]string{1: "up", 2: "down", 3: "testing", 4: "unknown", 5: "dormant", 6: "notPresent", 7: "lowerLayerDown"}

func status(n uint64) string {
	if n < uint64(len(statuses)) {
		return statuses[n]
	}
	return ""
}
