package snmp

import (
	"encoding/binary"
	"slices"
	"strings"

	"whichlink/graphs/spelling"
)

const (
	cdpBase     = "1.3.6.1.4.1.9.9.23.1."
	cdpDeviceID = cdpBase + "3.4.0" // cdpGlobalDeviceId
)

// cdpColumns are those of CISCO-CDP-MIB: cdpInterfaceName and cdpCacheTable, whose first index is the ifIndex.
var cdpColumns = []tellingColumn{
	{cdpBase + "1.1.1.6", func(r *tellingRows, index []uint32, v Value) {
		if len(index) == 1 {
			r.s.cdpName[index[0]] = words(v.Text)
		}
	}},
	hearingColumn(CDP, cdpBase+"2.1.1.4", func(h *Hearing, v Value) {
		if a, ok := addressOf(v.Text); ok {
			h.manage(a)
		}
	}),
	hearingColumn(CDP, cdpBase+"2.1.1.6", func(h *Hearing, v Value) { h.Name = cdpSystemName(words(v.Text)) }),
	hearingColumn(CDP, cdpBase+"2.1.1.7", func(h *Hearing, v Value) { h.PortID = ID{KindName, v.Text} }),
	hearingColumn(CDP, cdpBase+"2.1.1.9", func(h *Hearing, v Value) { h.StationOnly = cdpHost(v.Text) }),
}

// cdpHost reads cdpCacheCapabilities: host (0x10) and neither router, bridge nor switch (0x01, 0x02, 0x04, 0x08).
func cdpHost(raw string) bool {
	if len(raw) != 4 {
		return false
	}
	c := binary.BigEndian.Uint32([]byte(raw))
	return c&0x10 != 0 && c&0x0f == 0
}

// cdpSystemName takes the system's name from a device id: NX-OS writes the serial number behind it in brackets, CatOS before it.
func cdpSystemName(id string) string {
	front, behind, ok := strings.Cut(strings.TrimSuffix(id, ")"), "(")
	switch {
	case !ok || front+behind == "":
		return id
	case strings.Trim(front, "0123456789") == "" && behind != "":
		return behind
	}
	return front
}

// fallBack leaves of CDP's neighbours those that LLDP does not tell of: their port hears nobody by LLDP. Where it is not known which port heard by
// LLDP what CDP tells too, CDP's word is taken, which names the port.
func fallBack(hears []Hearing) []Hearing {
	type far struct{ name, port string }
	of := func(h *Hearing) far { return far{spelling.Node(h.Name), spelling.Port(h.PortID.Text)} }
	ports, known, named := map[string]bool{}, map[far]bool{}, map[far]bool{}
	for i := range hears {
		switch h := &hears[i]; {
		case h.Protocol == CDP:
			named[of(h)] = h.Port != ""
		case h.Port != "":
			ports[h.Port], known[of(h)] = true, true
		}
	}
	return slices.DeleteFunc(hears, func(h Hearing) bool {
		if h.Protocol == CDP {
			return ports[h.Port] || known[of(&h)]
		}
		return h.Port == "" && named[of(&h)]
	})
}
