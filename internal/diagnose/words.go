package diagnose

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// Percent writes a fraction as an engineer reads it: two significant digits and never a false zero.
func Percent(x float64) string {
	switch p := 100 * x; {
	case p == 0:
		return "0 %"
	case p < 0.001:
		return "<0.001 %"
	case p >= 99.95:
		return "100 %"
	case p >= 1:
		return fmt.Sprintf("%.1f %%", p)
	default:
		return fmt.Sprintf("%.2g %%", p)
	}
}

func lossWords(lost, sent int) string {
	if lost == 0 {
		return "none lost"
	}
	return fmt.Sprintf("%d lost (%s)", lost, Percent(float64(lost)/float64(max(1, sent))))
}

func chanceWords(p float64) string {
	if p < 1e-12 {
		return "below 1e-12"
	}
	return fmt.Sprintf("%.0e", p)
}

// thousands groups the digits of a count: 1,234,567.
func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// times writes e to the power of x as a factor.
func times(nats float64) string {
	switch f := math.Exp(nats); {
	case f > 1e6:
		return "over a million"
	case f >= 10:
		return thousands(int(f))
	default:
		return fmt.Sprintf("%.1f", f)
	}
}

// Micros writes a time in microseconds as an engineer reads it.
func Micros(us float64) string {
	switch {
	case us >= 600e6:
		text := time.Duration(us * 1e3).Round(time.Second).String()
		if short, ok := strings.CutSuffix(text, "m0s"); ok {
			text = short + "m"
		}
		if short, ok := strings.CutSuffix(text, "h0m"); ok {
			text = short + "h"
		}
		return text
	case us >= 1e6:
		return fmt.Sprintf("%.1f s", us/1e6)
	case us >= 1e4:
		return fmt.Sprintf("%.0f ms", us/1e3)
	case us >= 1e3:
		return fmt.Sprintf("%.1f ms", us/1e3)
	case us >= 10:
		return fmt.Sprintf("%.0f us", us)
	}
	return fmt.Sprintf("%.1f us", us)
}

func flowsWord(n int) string {
	if n == 1 {
		return "a flow"
	}
	return thousands(n) + " flows"
}

func timesWord(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// firstOf lists some names, and how many more there are.
func firstOf(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
