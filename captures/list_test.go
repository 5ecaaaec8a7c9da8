package captures

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"whichlink/captures/files"
)

// list takes down the packets of a capture that a choice takes.
func list(t testing.TB, c Choice, most int, name string) *List {
	t.Helper()
	in, err := os.Open(filepath.Join(permitted, name))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	f, err := files.Open(name, in, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	l := NewList(c, most)
	for p := (files.Packet{}); f.Next(&p) == nil; {
		l.Add(&p)
	}
	return l
}

func TestList(t *testing.T) {
	_, r := analyse(t, Config{}, filepath.Join(permitted, "generated.pcap.gz"))
	l := list(t, r.Findings[0].Choice(), 7, "generated.pcap.gz")
	if len(l.Lines) != 7 || l.Total <= 7 {
		t.Errorf("%d packets of %d are listed, want 7 of more", len(l.Lines), l.Total)
	}
	for _, x := range l.Lines {
		if x.Src != "10.1.1.204" && x.Dst != "10.1.1.204" || x.Proto != "RoCE" || !strings.Contains(x.Info, "psn ") {
			t.Errorf("a packet of %s is %+v", r.Findings[0].Subject, x)
		}
	}
	for name, want := range map[string]string{
		"zeek__retransmit-fast009.pcap": "TCP", "zeek__arp-leak.pcap": "0x0806", "generated.pcap.gz": "pauses for", "zeek__lldp.pcap": "0x88cc",
	} {
		if got := fmt.Sprint(list(t, Choice{}, 10_000, name).Lines); !strings.Contains(got, want) {
			t.Errorf("%s: no packet says %q: %s", name, want, got)
		}
	}
}

// Packets stand under the number, the addresses and the length that tshark gives them.
func TestListLikeTshark(t *testing.T) {
	tshark, err := exec.LookPath("tshark")
	if err != nil {
		t.Skip("no tshark")
	}
	const name = "zeek__retransmit-fast009.pcap"
	out, err := exec.Command(tshark, "-n", "-r", filepath.Join(permitted, name), "-Y", "tcp", "-T", "fields", "-E", "separator= ",
		"-e", "frame.number", "-e", "ip.src", "-e", "ip.dst", "-e", "frame.len", "-e", "tcp.seq_raw").Output()
	if err != nil {
		t.Skip(err)
	}
	var got strings.Builder
	for _, x := range list(t, Choice{}, 1<<20, name).Lines {
		if x.Proto == "TCP" {
			_, seq, _ := strings.Cut(x.Info, " seq ")
			seq, _, _ = strings.Cut(seq, " ")
			fmt.Fprintln(&got, x.Number, x.Src, x.Dst, x.Len, seq)
		}
	}
	if got.String() != string(out) || got.Len() == 0 {
		t.Errorf("tshark lists\n%s, and we\n%s", out, got.String())
	}
}
