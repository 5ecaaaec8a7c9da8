package captures

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// told is what a report and a truth have in common. What was lost before the point of capture and at the end of a burst leaves
// no retransmission in the capture, so it is no retransmission here, but a timeout. The truth counts a hole when it is
// filled, so those that the end of the file left open are not compared.
func told(a *Analyzer, r *Report) map[string]int64 {
	t, q := &r.TCP, &r.RoCE
	return map[string]int64{
		"packets": r.Packets, "bytes": r.Files[0].Bytes, "retransmissions": int64(t.Retransmission), "fast": int64(t.Fast),
		"spurious": int64(t.Spurious), "reordering": int64(t.OutOfOrder), "lost segments": int64(t.LostSegment) - int64(a.tcp.liveHoles),
		"lost before": int64(t.LostBefore), "lost after": int64(t.LostAfter), "timeouts": int64(t.Timeouts), "unseen": int64(t.TimeoutsUnseen),
		"zero windows": int64(t.ZeroWindow), "copies": t.Copies, "missed": int64(t.Missed),
		"gaps": int64(q.Gaps), "gap packets": int64(q.GapPackets), "roce lost after": int64(q.LostAfter), "nak": int64(q.NAKSequence), "rnr": int64(q.RNR), "cnp": int64(q.CNP),
		"sent again": int64(q.Retransmitted), "stalls": int64(q.TimeoutStalls), "icrc": int64(q.ICRCBad), "ce": r.ECN.CE, "pause frames": r.PFC.Frames,
	}
}

func wanted(tr truth) map[string]int64 {
	c := tr.Counts
	return map[string]int64{
		"packets": tr.Packets, "bytes": tr.Bytes, "retransmissions": c["tcp_retransmissions"] - c["tcp_rto_tail_up"],
		"fast": c["tcp_fast_up"] + c["tcp_fast_down"], "spurious": c["tcp_spurious"], "reordering": c["tcp_reorder"],
		"lost segments": c["tcp_fast_up"] + c["tcp_reorder"], "lost before": c["tcp_fast_up"], "lost after": c["tcp_fast_down"] + c["tcp_rto_tail_down"],
		"timeouts": c["tcp_rto_stalls"], "unseen": c["tcp_rto_tail_up"], "zero windows": c["tcp_zero_window_frames"], "copies": 0, "missed": 0,
		"gaps": c["roce_gap_up"], "gap packets": c["roce_gap_up"], "roce lost after": c["roce_gap_down"], "nak": c["roce_nak_seq"], "rnr": c["roce_rnr"], "cnp": c["roce_cnp"],
		"sent again": c["roce_retransmitted"], "stalls": c["roce_timeout_tail"], "icrc": 0, "ce": c["roce_ce_marked"], "pause frames": c["pfc_frames"],
	}
}

// TestTruth plays generated captures, whose faults were counted as they were written: every count is exact.
func TestTruth(t *testing.T) {
	program := generator(t)
	seeds := 20
	if testing.Short() {
		seeds = 2
	}
	for seed := 1; seed <= seeds; seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			arguments := []string{"-size", "12000000", "-tcp", "40", "-roce", "30", "-loss", "0.2", "-idle", "40000000"}
			if seed%2 == 0 {
				arguments = append(arguments, "-snap", "96", "-nano=false", "-size", "4000000")
			}
			name := generate(t, program, seed, arguments...)
			tr := readTruth(t, name+".truth.json")
			a, r := analyse(t, Config{}, name)
			if d := cmp.Diff(wanted(tr), told(a, r)); d != "" {
				t.Error(d)
			}
			if r.PFC.Frames >= 150 && r.PFC.Storms != 1 {
				t.Errorf("%d storms, want the one", r.PFC.Storms)
			}
		})
	}
}

// TestGenerated plays a small generated capture that lies in the repository.
func TestGenerated(t *testing.T) {
	const name = permitted + "/generated.pcap"
	tr := readTruth(t, name+".truth.json")
	a, r := analyse(t, Config{}, name+".gz")
	if d := cmp.Diff(wanted(tr), told(a, r)); d != "" {
		t.Error(d)
	}
	// Each direction of a queue pair goes to port 4791, so that it is a flow of its own.
	if want := tr.TCP + 2*tr.QPs; r.Flows > want || r.Flows < want/2 || a.Flows() != r.Flows {
		t.Errorf("%d flows, want at most %d", r.Flows, want)
	}
}
