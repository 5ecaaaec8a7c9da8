package lab

import (
	"fmt"
	"strconv"
	"strings"

	"whichlink/graphs"
)

// parseShare reads a share of packets: 5% or 0.05.
func parseShare(word string) (float64, error) {
	number, percent := strings.CutSuffix(word, "%")
	x, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return 0, fmt.Errorf("the share %q is not like 5%% or 0.05", graphs.Clean(word))
	}
	if percent {
		x /= 100
	}
	return x, nil
}

// parsePerSecond reads a number a second: 20, or 20/s.
func parsePerSecond(word string) (float64, error) {
	if word == "" {
		return defaultPolice, nil
	}
	x, err := strconv.ParseFloat(strings.TrimSuffix(word, "/s"), 64)
	if err != nil {
		return 0, fmt.Errorf("the rate %q is not a number a second", graphs.Clean(word))
	}
	return x, nil
}

// bitUnits are the units of a rate, longest first where one ends with another.
var bitUnits = []struct {
	suffix string
	bits   float64
}{{"tbit", 1e12}, {"gbit", 1e9}, {"mbit", 1e6}, {"kbit", 1e3}, {"bit", 1}, {"t", 1e12}, {"g", 1e9}, {"m", 1e6}, {"k", 1e3}}

// parseBandwidth reads a rate as tc(8) writes it: 50Mbit, 1.5Gbit; bit/s without a unit.
func parseBandwidth(word string) (graphs.BitsPerSecond, error) {
	number, unit := strings.ToLower(word), 1.0
	for _, u := range bitUnits {
		if rest, ok := strings.CutSuffix(number, u.suffix); ok {
			number, unit = rest, u.bits
			break
		}
	}
	x, err := strconv.ParseFloat(number, 64)
	if err != nil || x < 0 || x*unit > 1e15 {
		return 0, fmt.Errorf("the rate %q is not like 50Mbit", graphs.Clean(word))
	}
	return graphs.BitsPerSecond(x * unit), nil
}

func formatBandwidth(b graphs.BitsPerSecond) string {
	for _, u := range []struct {
		name string
		bits float64
	}{{"Gbit", 1e9}, {"Mbit", 1e6}, {"kbit", 1e3}} {
		if x := float64(b) / u.bits; x >= 1 {
			return strconv.FormatFloat(x, 'g', 6, 64) + u.name
		}
	}
	return strconv.FormatUint(uint64(b), 10) + "bit"
}
