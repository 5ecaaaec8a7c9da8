package captures

import (
	"fmt"
	"math/bits"
)

const (
	// maxTaps bounds the points of capture of which bursts are told.
	maxTaps = 64
	// overMean is how many times the mean rate a burst has where the link's speed is not known, and minBurst the frames in it: any
	// few packets are far above the mean of a quiet link.
	overMean = 16
	minBurst = 32
	// fullLink is the share of the link's speed from which a bin counts as full, and calmLink the mean share up to which such bins
	// are bursts and not a busy link.
	fullLink = 0.9
	calmLink = 0.5
)

// burstBins are the times over which bytes are added up: what a switch's buffers absorb, and what its counters never show.
var burstBins = [2]int64{narrowBin, 1_000_000}

const narrowBin = 100_000

// A load counts the bytes of one interface over bins of one width.
type load struct {
	bin, bytes, frames int64 // of the running bin
	// sizes counts bins by the doublings of their bytes, for those with enough frames in them.
	sizes            [40]int64
	full             int64 // bins from which fullLink on, if the speed is known
	firstFull, last  int64
	peak, peakFrames int64
	peakAt           int64
}

// A tapLoad is what came at one point of capture, copies left out.
type tapLoad struct {
	pointKey
	speed       uint64 // of its link; 0 unknown
	first, last int64
	frames      int64 // of the bins that are closed
	bytes       int64
	// apart counts frames that are no unicast ones, alone those that are and that nobody answered.
	apart, alone int64
	loads        [len(burstBins)]load
}

// A burstFinder tells when much more came within a millisecond, or within 100 us, than the link's mean says.
type burstFinder struct{ a *Analyzer }

func newBurstFinder(a *Analyzer) finder { return &burstFinder{a} }

func (f *burstFinder) see(*Sight) {}

// over says whether a packet belongs to a new narrow bin, for which the one before is to be closed.
func (t *tapLoad) over(now int64) bool { return uint64(now-t.loads[0].bin) >= uint64(narrowBin) }

// add counts a packet in the narrow bin that is running.
func (t *tapLoad) add(now, bytes int64) {
	l := &t.loads[0]
	l.bytes += bytes
	l.frames++
	t.last = max(t.last, now)
}

// roll closes the narrow bin, which adds to the wide one, and closes that too if a new one begins.
func (t *tapLoad) roll(now int64) {
	narrow, wide := &t.loads[0], &t.loads[1]
	narrow.end(t.speed, burstBins[0])
	t.bytes += narrow.bytes
	t.frames += narrow.frames
	wide.bytes += narrow.bytes
	wide.frames += narrow.frames
	narrow.bin, narrow.bytes, narrow.frames = now-now%burstBins[0], 0, 0
	if uint64(now-wide.bin) >= uint64(burstBins[1]) {
		wide.end(t.speed, burstBins[1])
		wide.bin, wide.bytes, wide.frames = now-now%burstBins[1], 0, 0
	}
}

// end closes a bin.
func (l *load) end(speed uint64, width int64) {
	if l.frames == 0 {
		return
	}
	if l.frames >= minBurst {
		l.sizes[min(bits.Len64(uint64(l.bytes)), len(l.sizes)-1)]++
	}
	if l.bytes > l.peak {
		l.peak, l.peakFrames, l.peakAt = l.bytes, l.frames, l.bin
	}
	if speed > 0 && rate(l.bytes, width) >= fullLink*float64(speed) {
		if l.full == 0 {
			l.firstFull = l.bin
		}
		l.full++
		l.last = l.bin + width
	}
}

// rate returns bits per second.
func rate(bytes, ns int64) float64 { return 8e9 * float64(bytes) / float64(max(ns, 1)) }

func (f *burstFinder) report(r *Report) {
	for i := range min(len(f.a.points.all), maxTaps) {
		t := f.a.points.all[i] // a copy: more packets may follow this report
		t.roll(t.last)
		t.loads[1].end(t.speed, burstBins[1])
		mean := rate(t.bytes, t.last-t.first)
		subject := fmt.Sprintf("interface %d", t.iface)
		if t.file < len(r.Files) {
			subject = r.Files[t.file].File + " " + subject
		}
		for j, width := range burstBins {
			l := &t.loads[j]
			// A capture of a few bins has no mean to speak of.
			if t.last-t.first < 100*width || l.peakFrames < minBurst {
				continue
			}
			finding := Finding{
				Finding: "microburst", Subject: subject, From: instant(l.peakAt), To: instant(l.peakAt + width),
				Filter: fmt.Sprintf("frame.time_epoch >= %s && frame.time_epoch < %s", epoch(l.peakAt), epoch(l.peakAt+width)),
			}
			peak := rate(l.peak, width)
			text := fmt.Sprintf("%s within %s, where the mean is %s", bitRate(peak), duration(width), bitRate(mean))
			switch {
			case t.speed > 0 && l.full > 0 && mean < calmLink*float64(t.speed):
				finding.Severity, finding.Count = Warning, l.full
				finding.Text = fmt.Sprintf("%s; %s of %s at %.0f %% or more of the link's %s", text, plural(l.full, "bin"), duration(width), 100*fullLink, bitRate(float64(t.speed)))
				finding.Rule = "bytes of both directions in bins of fixed width against the link's speed, which is on average less than half used"
			case t.speed == 0 && peak >= overMean*mean:
				finding.Severity, finding.Count = Info, l.above(overMean*mean*float64(width)/8e9)
				finding.Text = fmt.Sprintf("%s, %.0f times as much, in %s of %d frames or more; the link's speed is not known: --speed tells it",
					text, peak/mean, plural(finding.Count, "bin"), minBurst)
				finding.Rule = fmt.Sprintf("bytes of both directions in bins of fixed width, %d times the mean or more", overMean)
			default:
				continue
			}
			r.Findings = append(r.Findings, finding)
			break // the wider bins say the same
		}
	}
}

// above returns how many bins had so many bytes, to a doubling, and at least the greatest one.
func (l *load) above(bytes float64) int64 {
	n := int64(0)
	for i := bits.Len64(uint64(bytes)) + 1; i < len(l.sizes); i++ {
		n += l.sizes[i]
	}
	return max(n, 1)
}

// epoch writes a time as display filters want it.
func epoch(ns int64) string { return fmt.Sprintf("%d.%09d", ns/1_000_000_000, ns%1_000_000_000) }
