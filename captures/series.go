package captures

// A Bin sums up what passed in one stretch of time.
type Bin struct {
	Packets, Bytes    int64
	Lost, SentAgain   int64 // noticed in it, of TCP and RoCE
	CE                int64
	RTTs              int64
	LeastRTT, RTTsSum int64 // ns
}

// A Series is bins of equal width, one after the other.
type Series struct {
	From  int64 // ns since 1970 UTC
	Width int64 // ns
	Bins  []Bin
}

// seriesBins is the most bins of a series. It begins with narrow ones; when they do not reach, two and two are made one.
const (
	seriesBins  = 512
	firstWidth  = 1_000
	widestWidth = 1 << 61
)

// A recorder makes a series of what an analyzer counts.
type recorder struct {
	Series
	lost, again uint32
	rtts        uint32
}

// add counts the packet that the analyzer has just looked at.
func (r *recorder) add(a *Analyzer, s *Sight) {
	if len(r.Bins) == 0 {
		r.From, r.Width = s.Time, firstWidth
	}
	i := max(0, s.Time-r.From) / r.Width // what lies before the first packet of the capture is counted with it
	for i >= seriesBins && r.Width < widestWidth {
		r.widen()
		i = max(0, s.Time-r.From) / r.Width
	}
	for int64(len(r.Bins)) <= i {
		r.Bins = append(r.Bins, Bin{})
	}
	b := &r.Bins[i]
	b.Packets++
	b.Bytes += int64(s.Orig)
	if s.IP != nil && s.Frame.CE() {
		b.CE++
	}
	t, q := &a.tcp.counts, &a.roce.all
	lost, again := t.lostBefore+t.lostAfter+q.GapPackets+q.LostAfter, t.retransmission+q.Retransmitted
	b.Lost += int64(int32(lost - r.lost)) // a gap that turns out to be a reordering is taken back
	b.SentAgain += int64(int32(again - r.again))
	r.lost, r.again = lost, again
	if n := a.tcp.rtts; n != r.rtts {
		if b.RTTs == 0 || a.tcp.lastRTT < b.LeastRTT {
			b.LeastRTT = a.tcp.lastRTT
		}
		b.RTTs++
		b.RTTsSum += a.tcp.lastRTT
		r.rtts = n
	}
}

// widen makes bins twice as wide.
func (r *recorder) widen() {
	r.Width *= 2
	for i := range r.Bins {
		b := r.Bins[i]
		r.Bins[i] = Bin{}
		to := &r.Bins[i/2]
		if b.RTTs > 0 && (to.RTTs == 0 || b.LeastRTT < to.LeastRTT) {
			to.LeastRTT = b.LeastRTT
		}
		to.Packets += b.Packets
		to.Bytes += b.Bytes
		to.Lost += b.Lost
		to.SentAgain += b.SentAgain
		to.CE += b.CE
		to.RTTs += b.RTTs
		to.RTTsSum += b.RTTsSum
	}
	r.Bins = r.Bins[:(len(r.Bins)+1)/2]
}

// Series returns how the counts went over time, if Config.Series asked for that.
func (a *Analyzer) Series() *Series {
	if a.series == nil {
		return &Series{}
	}
	return &a.series.Series
}
