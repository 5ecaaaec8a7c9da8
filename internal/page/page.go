// Package page holds what all pages of HTML have in common that the program writes: their style, for light and dark, and the drawing of a
// series. A page is one file that fetches nothing.
package page

import (
	_ "embed"
	"fmt"
	"html/template"
	"math"
	"strings"
)

//go:embed style.css
var style string

// Style returns the style sheet of pages. A series is drawn in an svg of class series.
func Style() template.CSS { return template.CSS(style) }

// Bars draws values, not negative, as the path of an svg whose view box is one wide for each value, and 100 high. The greatest, which it returns,
// is drawn to the top. Of values that are NaN or 0 nothing is drawn; where there are no others, most is 0.
func Bars(values []float64) (path string, most float64) {
	for _, v := range values {
		if v > most && !math.IsInf(v, 1) {
			most = v
		}
	}
	if most == 0 {
		return "", 0
	}
	var b strings.Builder
	for i, v := range values {
		if v > 0 && v <= most {
			fmt.Fprintf(&b, "M%d 100V%.1fh1V100z", i, 100-max(1, 100*v/most))
		}
	}
	return b.String(), most
}
