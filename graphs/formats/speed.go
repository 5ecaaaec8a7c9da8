package formats

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"whichlink/graphs"
)

var units = []struct {
	letter byte
	factor uint64
}{{'T', 1e12}, {'G', 1e9}, {'M', 1e6}, {'K', 1e3}}

// ParseSpeed reads a speed in bit/s with an optional K, M, G or T (powers of 1000): 100G, 2.5G, 40000000000.
func ParseSpeed(word string) (graphs.BitsPerSecond, error) {
	wrong := fmt.Errorf("%q, expected a speed in bit/s such as 100G", graphs.Clean(word))
	number := strings.ToUpper(word)
	factor := uint64(1)
	for _, u := range units {
		if strings.HasSuffix(number, string(u.letter)) {
			number, factor = number[:len(number)-1], u.factor
			break
		}
	}
	if n, err := strconv.ParseUint(number, 10, 64); err == nil && n <= math.MaxInt64/factor {
		return graphs.BitsPerSecond(n * factor), nil
	}
	x, err := strconv.ParseFloat(number, 64)
	if err != nil || strings.ContainsAny(number, "XPEIN_+-") || x*float64(factor) >= math.MaxInt64 {
		return 0, wrong
	}
	return graphs.BitsPerSecond(math.Round(x * float64(factor))), nil
}

// FormatSpeed writes a speed as ParseSpeed reads it, with the largest unit that leaves a whole number.
func FormatSpeed(s graphs.BitsPerSecond) string {
	for _, u := range units {
		if n := uint64(s); n != 0 && n%u.factor == 0 {
			return strconv.FormatUint(n/u.factor, 10) + string(u.letter)
		}
	}
	return strconv.FormatUint(uint64(s), 10)
}
