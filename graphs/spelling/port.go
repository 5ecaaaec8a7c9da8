package spelling

import "strings"

// kinds are the words that stand before a port's number, as devices write them in full and as they and their users shorten them.
// (Cisco's are those of "show interfaces status"; 10GE and the like are Huawei's, XGE H3C's, e1-1 containerlab's for SR Linux.)
var kinds = shortened(map[string]string{
	"ethernet":            "e et eth",
	"fastethernet":        "fa fas",
	"gigabitethernet":     "gi gig ge gige",
	"twogigabitethernet":  "tw",
	"fivegigabitethernet": "fi",
	"tengigabitethernet":  "te ten tengig tengige ten-gigabitethernet xgigabitethernet xge 10ge",
	"twentyfivegige":      "twe twentyfivegigabitethernet 25ge",
	"fortygige":           "fo fortygigabitethernet fge 40ge",
	"fiftygige":           "fiftygigabitethernet 50ge",
	"hundredgige":         "hu hun hundredgigabitethernet hge 100ge",
	"twohundredgige":      "twohundredgigabitethernet 200ge",
	"fourhundredgige":     "fh fourhundredgigabitethernet 400ge",
	"eighthundredgige":    "eighthundredgigabitethernet 800ge",
	"management":          "ma mgmt",
	"port-channel":        "po portchannel",
	"bundle-ether":        "be",
	"loopback":            "lo",
	"vlan":                "vl",
})

func shortened(full map[string]string) map[string]string {
	all := map[string]string{}
	for long, words := range full {
		all[long] = long
		for _, w := range strings.Fields(words) {
			all[w] = long
		}
	}
	return all
}

// junos are the media words that Junos joins to the number by a hyphen, which tells et-0/0/1 from Arista's Et1.
var junos = map[string]bool{"ge": true, "xe": true, "et": true, "fe": true, "mge": true}

// Port returns the canonical form of a port's name: in lower case, the word before its number in full, the parts of the number between
// slashes, and without the unit of a subinterface, since a cable is in the physical port. Breakout lanes (swp1s0, Ethernet1/7/2,
// xe-0/0/1:0) stay what they are. A name that it does not know stays as it is but for its case.
//
// It does not know that SONiC's Ethernet4 may be the second port of the front: that takes the platform's own table.
func Port(name string) string {
	name = fold(name)
	if mac, ok := MAC(name); ok {
		return mac
	}
	word, number := cutNumber(name)
	if number == "" || name == "eth0" {
		return name // eth0 is the management port, also where Ethernet0 is a port of the front
	}
	if word != "" {
		number = physical(number)
	}
	if media, ok := strings.CutSuffix(word, "-"); ok && junos[media] {
		return word + number
	}
	kind := kinds[strings.Trim(word, " -_")]
	switch {
	case kind == "" && word != "":
		return word + number
	case kind == "ethernet" || kind == "":
		number = strings.NewReplacer("-", "/", "_", "/").Replace(number)
	}
	return kind + number
}

// managements are the words of ports that lead to the network of management and carry no traffic of the fabric, besides those of [kinds] (Junos, Huawei VRP, IOS-XR,
// OS9).
var managements = map[string]bool{"management": true, "managementethernet": true, "mgmteth": true, "meth": true, "fxp": true, "em": true, "me": true, "vme": true, "oob": true}

// IsManagement reports whether a port is one of management by its name.
func IsManagement(port string) bool {
	name := Port(port)
	word, _ := cutNumber(name)
	return name == "eth0" || strings.Contains(name, ":mgmt-") || managements[strings.TrimSpace(word)] || kinds[word] == "management"
}

// cutNumber cuts a name before its number. The word before it may itself begin with a number: 10GE1/0/1.
func cutNumber(name string) (word, number string) {
	start := 0
	if digits := strings.IndexFunc(name, func(r rune) bool { return r < '0' || r > '9' }); digits > 0 && strings.HasPrefix(name[digits:], "ge") {
		start = digits + len("ge")
	}
	at := strings.IndexAny(name[start:], "0123456789")
	if at < 0 {
		return name, ""
	}
	return name[:start+at], name[start+at:]
}

// physical cuts the unit of a subinterface off: .0, .100.
func physical(number string) string {
	at := strings.LastIndexByte(number, '.')
	if at <= 0 || at == len(number)-1 || strings.Trim(number[at+1:], "0123456789") != "" {
		return number
	}
	return number[:at]
}
