package tui

import (
	"image/color"
	"math"
	"testing"
)

// How people see colours who lack one kind of cones, in linear RGB (Machado, Oliveira and Fernandes 2009, severity 1).
var sights = map[string][3][3]float64{
	"all cones":      {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	"without red":    {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
	"without green":  {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
	"without blue":   {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}},
	"without colour": {{0.2126, 0.7152, 0.0722}, {0.2126, 0.7152, 0.0722}, {0.2126, 0.7152, 0.0722}},
}

// seen returns a colour in linear RGB as somebody sees it.
func seen(c color.Color, m [3][3]float64) (rgb [3]float64) {
	r, g, b, _ := c.RGBA()
	linear := func(v uint32) float64 {
		x := float64(v) / 0xffff
		if x <= 0.04045 {
			return x / 12.92
		}
		return math.Pow((x+0.055)/1.055, 2.4)
	}
	in := [3]float64{linear(r), linear(g), linear(b)}
	for i := range rgb {
		for j := range in {
			rgb[i] += m[i][j] * in[j]
		}
		rgb[i] = min(max(rgb[i], 0), 1)
	}
	return rgb
}

func luminanceOf(c [3]float64) float64 { return 0.2126*c[0] + 0.7152*c[1] + 0.0722*c[2] }

// lab is a colour in CIE L*a*b* under D65: distances in it are about even to the eye.
func lab(c [3]float64) [3]float64 {
	f := func(t float64) float64 {
		if t > 216.0/24389 {
			return math.Cbrt(t)
		}
		return (24389.0/27*t + 16) / 116
	}
	x := f((0.4124*c[0] + 0.3576*c[1] + 0.1805*c[2]) / 0.95047)
	y := f(luminanceOf(c))
	z := f((0.0193*c[0] + 0.1192*c[1] + 0.9505*c[2]) / 1.08883)
	return [3]float64{116*y - 16, 500 * (x - y), 200 * (y - z)}
}

// Whoever sees whatever colours: text can be read on its ground (WCAG: a contrast of 4.5), and good, warning and bad are told apart, except where no
// colours are seen at all. Words say the same in any case.
func TestThemesForAllEyes(t *testing.T) {
	const readable, apart = 4.5, 15
	for name, ground := range map[string]color.Color{"dark": color.Black, "light": color.White} {
		th := themeOf(name, false)
		for sight, m := range sights {
			g := luminanceOf(seen(ground, m))
			var colours [][3]float64
			for _, st := range []style{good, warn, bad} {
				c := seen(th.styles[st].GetForeground(), m)
				l := luminanceOf(c)
				if contrast := (max(l, g) + 0.05) / (min(l, g) + 0.05); contrast < readable {
					t.Errorf("theme %s, %s, style %d: contrast %.1f", name, sight, st, contrast)
				}
				colours = append(colours, lab(c))
			}
			if sight == "without colour" {
				continue
			}
			for i := range colours {
				for j := range i {
					d := math.Hypot(math.Hypot(colours[i][0]-colours[j][0], colours[i][1]-colours[j][1]), colours[i][2]-colours[j][2])
					if d < apart {
						t.Errorf("theme %s, %s: styles %d and %d are %.0f apart", name, sight, j, i, d)
					}
				}
			}
		}
	}
}
