package diagnose

import "testing"

func TestMicros(t *testing.T) {
	for us, want := range map[float64]string{2.5: "2.5 us", 250: "250 us", 1.5e3: "1.5 ms", 4e6: "4.0 s", 900e6: "15m", 4200e6: "1h10m", 14400e6: "4h", 3661e6: "1h1m1s"} {
		if got := Micros(us); got != want {
			t.Errorf("%v us: %q, want %q", us, got, want)
		}
	}
}
