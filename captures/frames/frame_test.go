package frames

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"reflect"
	"strings"
	"testing"

	"whichlink/captures/files"
)

// unhex reads hexadecimal digits with blanks between.
func unhex(s string) string {
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		panic(err)
	}
	return string(b)
}

// Builders of headers. Each takes what follows.

func ethernet(kind uint16, rest string) string {
	return unhex("0200 0000 0002 0200 0000 0001") + be16(kind) + rest
}

func be16(v uint16) string { return string(binary.BigEndian.AppendUint16(nil, v)) }
func be32(v uint32) string { return string(binary.BigEndian.AppendUint32(nil, v)) }

func ipv4(proto byte, tos byte, rest string) string {
	return "\x45" + string([]byte{tos}) + be16(uint16(20+len(rest))) + unhex("1234 4000") + string([]byte{64, proto}) + "\x00\x00" + unhex("0a000001 0a000002") + rest
}

func ipv6(next byte, rest string) string {
	return unhex("60 3 12345") + be16(uint16(len(rest))) + string([]byte{next, 64}) + unhex("fd00 0000 0000 0000 0000 0000 0000 0001 fd00 0000 0000 0000 0000 0000 0000 0002") + rest
}

func udp(from, to uint16, rest string) string {
	return be16(from) + be16(to) + be16(uint16(8+len(rest))) + "\x00\x00" + rest
}

func tcp(options, payload string) string {
	return be16(1000) + be16(80) + be32(7) + be32(9) + string([]byte{byte(5+len(options)/4) << 4, 0x18}) + be16(512) + unhex("abcd 0000") + options + payload
}

// describe writes what was decoded.
func describe(f *Frame) string {
	var b strings.Builder
	for _, v := range f.VLANs[:f.NumVLANs] {
		fmt.Fprintf(&b, "vlan %d ", v)
	}
	for _, l := range f.Labels[:f.NumLabels] {
		fmt.Fprintf(&b, "label %d ", l>>12)
	}
	for i := range f.NumIPs {
		ip := &f.IPs[i]
		if f.Tunnels[i] != NoTunnel {
			fmt.Fprintf(&b, "in %s ", [...]string{"", "vxlan", "gpe", "geneve", "gre", "nvgre", "erspan1", "erspan2", "erspan3", "ipip", "mplsudp"}[f.Tunnels[i]])
		}
		fmt.Fprintf(&b, "ip%d %d %d>%d ", ip.Version, ip.Proto, ip.SrcPort, ip.DstPort)
	}
	switch f.Kind {
	case TCPSegment:
		fmt.Fprintf(&b, "tcp seq %d ack %d len %d flags %#x", f.TCP.Seq, f.TCP.Ack, f.TCP.Len, f.TCP.Flags)
	case UDPPacket:
		fmt.Fprintf(&b, "udp %d", f.End-f.L4)
	case ICMPPacket:
		fmt.Fprintf(&b, "icmp %d/%d", f.ICMP.Type, f.ICMP.Code)
	case RoCEPacket:
		fmt.Fprintf(&b, "bth %#x qp %d psn %d payload %d", f.BTH.Opcode, f.BTH.DestQP, f.BTH.PSN, f.BTH.Payload)
	case MACControl:
		fmt.Fprintf(&b, "pause %#x %08b %d", f.Pause.Opcode, f.Pause.Classes, f.Pause.Quanta)
	case Fragment:
		b.WriteString("fragment")
	case IPOther:
		b.WriteString("other")
	case Other:
		fmt.Fprintf(&b, "type %04x", f.EtherType)
	}
	if f.Network != 0 || f.Session != 0 {
		fmt.Fprintf(&b, " net %d session %d", f.Network, f.Session)
	}
	if f.Malformed {
		b.WriteString(" malformed")
	}
	return b.String()
}

const (
	bth     = "00 40 ffff 00 000045 80 000007"
	erspan2 = "1001 0005 0000 0000"
)

var plain = ethernet(0x0800, ipv4(6, 0, tcp("", "abc")))

var packets = []struct {
	name string
	link files.LinkType
	data string
	want string
}{
	{"tcp", files.Ethernet, plain, "ip4 6 1000>80 tcp seq 7 ack 9 len 3 flags 0x18"},
	{"padded", files.Ethernet, ethernet(0x0800, ipv4(6, 0, tcp("", ""))) + "\x00\x00\x00\x00\x00\x00", "ip4 6 1000>80 tcp seq 7 ack 9 len 0 flags 0x18"},
	{"three tags", files.Ethernet, ethernet(0x88a8, unhex("0005 8100 2007 9100 0009 0800")+ipv4(17, 0, udp(5, 6, "x"))), "vlan 5 vlan 7 vlan 9 ip4 17 5>6 udp 9"},
	{"mpls", files.Ethernet, ethernet(0x8847, unhex("00010 0 40 00020 1 40")+ipv6(58, unhex("8000 0000 0001 0002"))), "label 16 label 32 ip6 58 0>0 icmp 128/0"},
	{"pseudowire", files.Ethernet, ethernet(0x8847, unhex("00020 1 40 00000000")+plain), "label 32 ip4 6 1000>80 tcp seq 7 ack 9 len 3 flags 0x18"},
	{"ipv6 extensions", files.Ethernet, ethernet(0x86dd, ipv6(0, unhex("2b00 0000 0000 0000 3c00 0000 0000 0000 1100 0000 0000 0000")+udp(1, 2, ""))), "ip6 17 1>2 udp 8"},
	{"ipv6 fragment", files.Ethernet, ethernet(0x86dd, ipv6(44, unhex("1100 0009 00000001")+"abcdefgh")), "ip6 17 0>0 fragment"},
	{"ipv4 fragment", files.Ethernet, strings.Replace(plain, "\x12\x34\x40\x00", "\x12\x34\x20\x05", 1), "ip4 6 0>0 fragment"},
	{"vxlan", files.Ethernet, ethernet(0x0800, ipv4(17, 0, udp(9, 4789, unhex("0800 0000 000457 00")+plain))), "ip4 17 9>4789 in vxlan ip4 6 1000>80 tcp seq 7 ack 9 len 3 flags 0x18 net 1111 session 0"},
	{"gpe", files.Ethernet, ethernet(0x0800, ipv4(17, 0, udp(9, 4790, unhex("0c00 0001 000009 00")+plain[14:]))), "ip4 17 9>4790 in gpe ip4 6 1000>80 tcp seq 7 ack 9 len 3 flags 0x18 net 9 session 0"},
	{"geneve", files.Ethernet, ethernet(0x0800, ipv4(17, 0, udp(9, 6081, unhex("0100 6558 000003 00 11223344")+plain))), "ip4 17 9>6081 in geneve ip4 6 1000>80 tcp seq 7 ack 9 len 3 flags 0x18 net 3 session 0"},
	{"gre", files.Ethernet, ethernet(0x0800, ipv4(47, 0, unhex("3000 0800 00000001 00000002")+plain[14:])), "ip4 47 0>0 in gre ip4 6 1000>80 tcp seq 7 ack 9 len 3 flags 0x18"},
	{"nvgre", files.Ethernet, ethernet(0x0800, ipv4(47, 0, unhex("2000 6558 000006 00")+plain)), "ip4 47 0>0 in nvgre ip4 6 1000>80 tcp seq 7 ack 9 len 3 flags 0x18 net 6 session 0"},
	{"erspan 1", files.Ethernet, ethernet(0x0800, ipv4(47, 0, unhex("0000 88be")+plain)), "ip4 47 0>0 in erspan1 ip4 6 1000>80 tcp seq 7 ack 9 len 3 flags 0x18"},
	{"erspan 2", files.Ethernet, ethernet(0x0800, ipv4(47, 0, unhex("1000 88be 00000001"+erspan2)+plain)), "ip4 47 0>0 in erspan2 ip4 6 1000>80 tcp seq 7 ack 9 len 3 flags 0x18 net 0 session 5"},
	{"erspan 3", files.Ethernet, ethernet(0x0800, ipv4(47, 0, unhex("1000 22eb 00000001 2001 0006 00000000 0000 0001 0000000000000000")+plain)), "ip4 47 0>0 in erspan3 ip4 6 1000>80 tcp seq 7 ack 9 len 3 flags 0x18 net 0 session 6"},
	{"ipip", files.Ethernet, ethernet(0x0800, ipv4(4, 0, ipv4(41, 0, ipv6(17, udp(1, 2, ""))))), "ip4 4 0>0 in ipip ip4 41 0>0 in ipip ip6 17 1>2 udp 8"},
	{"mpls in udp", files.Ethernet, ethernet(0x0800, ipv4(17, 0, udp(9, 6635, unhex("00020 1 40")+plain[14:]))), "label 32 ip4 17 9>6635 in mplsudp ip4 6 1000>80 tcp seq 7 ack 9 len 3 flags 0x18"},
	{"roce v2", files.Ethernet, ethernet(0x0800, ipv4(17, 2, udp(69, 4791, unhex("04"+bth[2:])+"pay!"+"iCRC"))), "ip4 17 69>4791 bth 0x4 qp 69 psn 7 payload 4"},
	{"roce v1", files.Ethernet, ethernet(0x8915, ipv6(0x1b, unhex("0a"+bth[2:])+unhex("0000000000000000 00000001 00000004")+"pay!"+"iCRC")), "ip6 27 0>0 bth 0xa qp 69 psn 7 payload 4"},
	{"cnp", files.Ethernet, ethernet(0x0800, ipv4(17, 0xc2, udp(1, 4791, unhex("81"+bth[2:])+strings.Repeat("\x00", 16)+"iCRC"))), "ip4 17 1>4791 bth 0x81 qp 69 psn 7 payload 0"},
	{"not roce", files.Ethernet, ethernet(0x0800, ipv4(17, 0, udp(1, 4791, "somebody else's"))), "ip4 17 1>4791 udp 23"},
	{"pfc", files.Ethernet, ethernet(0x8808, unhex("0101 0009 0001 0000 0000 ffff 0000 0000 0000 0000")), "pause 0x101 00001001 [1 0 0 65535 0 0 0 0]"},
	{"pause", files.Ethernet, ethernet(0x8808, unhex("0001 00ff")), "pause 0x1 00000001 [255 0 0 0 0 0 0 0]"},
	{"lldp", files.Ethernet, ethernet(0x88cc, "x"), "type 88cc"},
	{"stp", files.Ethernet, ethernet(38, unhex("424203")), "type 0000"},
	{"snap", files.Ethernet, ethernet(60, unhex("aaaa03 000000 0800")+plain[14:]), "ip4 6 1000>80 tcp seq 7 ack 9 len 3 flags 0x18"},
	{"sll", files.LinuxSLL, unhex("0000 0001 0006 020000000001 0000 0800") + plain[14:], "ip4 6 1000>80 tcp seq 7 ack 9 len 3 flags 0x18"},
	{"sll2", files.LinuxSLL2, unhex("0800 0000 00000002 0001 00 06 0200000000010000") + plain[14:], "ip4 6 1000>80 tcp seq 7 ack 9 len 3 flags 0x18"},
	{"null", files.Null, unhex("02000000") + plain[14:], "ip4 6 1000>80 tcp seq 7 ack 9 len 3 flags 0x18"},
	{"loop", files.Loop, unhex("00000002") + plain[14:], "ip4 6 1000>80 tcp seq 7 ack 9 len 3 flags 0x18"},
	{"raw", files.Raw, plain[14:], "ip4 6 1000>80 tcp seq 7 ack 9 len 3 flags 0x18"},
	{"ppp", files.PPP, unhex("ff03 0021") + plain[14:], "ip4 6 1000>80 tcp seq 7 ack 9 len 3 flags 0x18"},
	{"wireless", files.WiFi, unhex("0802 0000 020000000002 020000000001 020000000003 0000 aaaa03000000 0800") + plain[14:], "ip4 6 1000>80 tcp seq 7 ack 9 len 3 flags 0x18"},
	{"radiotap, with quality of service and padding", files.Radiotap, unhex("0000 1900 03000080 00000000 00000000 0000000000000000 20 8801 0000 020000000002 020000000001 020000000003 0000 0000 0000 aaaa03000000 0800") + plain[14:],
		"ip4 6 1000>80 tcp seq 7 ack 9 len 3 flags 0x18"},
	{"radiotap, encrypted", files.Radiotap, unhex("0000 0800 00000000 0842 0000 020000000002 020000000001 020000000003 0000 aaaa03000000 0800") + plain[14:], "type 0000"},
	{"ppp with direction", files.PPPWay, unhex("01 ff03 0021") + plain[14:], "ip4 6 1000>80 tcp seq 7 ack 9 len 3 flags 0x18"},
	{"mpls", files.MPLS, unhex("00010140") + plain[14:], "label 16 ip4 6 1000>80 tcp seq 7 ack 9 len 3 flags 0x18"},
	{"per-packet information in front of Ethernet", files.PPI, unhex("00 00 1000 01000000 0000 0400 00000000") + plain, "ip4 6 1000>80 tcp seq 7 ack 9 len 3 flags 0x18"},
	{"per-packet information shorter than itself", files.PPI, unhex("00 00 0400 01000000") + plain, "type 0000 malformed"},
	{"nflog", files.NFLog, unhex("02 00 0000 0800 0100 08000300 0500 0a00 00000000") + "\x2f\x00\x09\x00" + plain[14:], "ip4 6 1000>80 tcp seq 7 ack 9 len 3 flags 0x18"},
	{"hdlc", files.CiscoHDLC, unhex("0f00 0800") + plain[14:], "ip4 6 1000>80 tcp seq 7 ack 9 len 3 flags 0x18"},
	{"cut", files.Ethernet, plain[:30], "type 0800 malformed"},
	{"header longer than packet", files.Raw, ipv4(6, 0, tcp("", "")[:12]+"\xf0"+tcp("", "")[13:]), "ip4 6 0>0 other malformed"},
	{"no length", files.Raw, plain[14:16] + "\x00\x00" + plain[18:], "ip4 6 1000>80 tcp seq 7 ack 9 len 3 flags 0x18"},
}

func TestDecode(t *testing.T) {
	var f Frame
	for _, c := range packets {
		f.Decode(c.link, len(c.data), []byte(c.data))
		if got := describe(&f); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

// TestDepth holds that a packet of nothing but headers ends.
func TestDepth(t *testing.T) {
	deep := udp(1, 2, "")
	for range 20 {
		deep = ipv4(4, 0, deep)
	}
	var f Frame
	f.Decode(files.Raw, len(deep), []byte(deep))
	if f.NumIPs != MaxDepth || !f.Malformed {
		t.Errorf("%d headers, malformed %v", f.NumIPs, f.Malformed)
	}
	tags := ethernet(0x8100, strings.Repeat(unhex("0001 8100"), 300))
	f.Decode(files.Ethernet, len(tags), []byte(tags))
	if f.NumVLANs != MaxTags || !f.Malformed {
		t.Errorf("%d tags, malformed %v", f.NumVLANs, f.Malformed)
	}
}

func TestNoAllocation(t *testing.T) {
	var f Frame
	for _, c := range packets {
		data := []byte(c.data)
		if n := testing.AllocsPerRun(100, func() {
			f.Decode(c.link, len(data), data)
			f.ICRC()
		}); n != 0 {
			t.Errorf("%s: %v allocations", c.name, n)
		}
	}
}

func TestTCPOptions(t *testing.T) {
	var f Frame
	syn := unhex("020405b4 0402 080a 00000005 00000006 01 030307")
	f.Decode(files.Raw, 1500, []byte(ipv4(6, 0, tcp(syn, ""))))
	if f.TCP.Scale != 7 || !f.TCP.HasStamp || f.TCP.Stamp != 5 || f.TCP.Echo != 6 {
		t.Errorf("%+v", f.TCP)
	}
	sack := unhex("0101 080a 00000005 00000006 0101 050a 00000064 000000c8")
	f.Decode(files.Raw, 1500, []byte(ipv4(6, 0, tcp(sack, ""))))
	if f.TCP.Blocks != 1 || f.TCP.SACK[0].Left != 100 || f.TCP.SACK[0].Right != 200 || f.TCP.Echo != 6 || f.TCP.Scale != -1 {
		t.Errorf("%+v", f.TCP)
	}
}

// TestICMPExtensions holds a time exceeded that names the label stack and the port (RFC 4884, 4950, 5837).
func TestICMPExtensions(t *testing.T) {
	quoted := ipv4(17, 0, udp(33000, 33434, ""))
	quoted += strings.Repeat("\x00", 128-len(quoted))
	objects := be16(8) + "\x01\x01" + unhex("00010 1 40") +
		be16(24) + "\x02\x0e" + be32(7) + unhex("0001 0000 0a000109") + "\x08swp7\x00\x00\x00"
	ext := "\x20\x00\x00\x00" + objects
	sum := checksum([]byte(ext))
	ext = "\x20\x00" + be16(sum) + objects
	message := unhex("0b00 0000 00 20 0000") + quoted + ext
	packet := ipv4(1, 0, message)
	var f Frame
	f.Decode(files.Raw, len(packet), []byte(packet))
	m := &f.ICMP
	if !m.HasQuoted || m.Quoted.SrcPort != 33000 || m.Quoted.DstPort != 33434 || m.Quoted.Dst.Netip().String() != "10.0.0.2" {
		t.Errorf("quoted %+v", m.Quoted)
	}
	if len(m.Labels) != 4 || !m.HasInterface || string(m.Interface.Name) != "swp7" || m.Interface.Index != 7 || m.Interface.Addr.Netip().String() != "10.0.1.9" {
		t.Errorf("labels % x, interface %+v", m.Labels, m.Interface)
	}
	broken := []byte(packet)
	broken[len(broken)-3] ^= 1
	if f.Decode(files.Raw, len(broken), broken); m.HasInterface {
		t.Error("an extension with a wrong checksum is believed")
	}
}

// TestICRC holds the CRC against one computed the long way, for every length and version: a bit that turns is seen, one in a
// field that changes on the way is not.
func TestICRC(t *testing.T) {
	for n := range 200 {
		payload := strings.Repeat("z", n)
		for _, v6 := range []bool{false, true} {
			segment := udp(1, 4791, unhex("04"+bth[2:])+payload+"\x00\x00\x00\x00")
			packet := []byte(ipv4(17, 2, segment))
			header := 20
			if v6 {
				packet, header = []byte(ipv6(17, segment)), 40
			}
			masked := append([]byte("\xff\xff\xff\xff\xff\xff\xff\xff"), packet[:len(packet)-4]...)
			for _, i := range map[bool][]int{false: {1, 8, 10, 11}, true: {1, 2, 3, 7}}[v6] {
				masked[8+i] = 0xff
			}
			if v6 {
				masked[8] |= 0x0f
			}
			masked[8+header+6], masked[8+header+7], masked[8+header+12] = 0xff, 0xff, 0xff
			binary.LittleEndian.PutUint32(packet[len(packet)-4:], crc32.ChecksumIEEE(masked))
			var f Frame
			verdict := func() CRC {
				f.Decode(files.Raw, len(packet), packet)
				return f.ICRC()
			}
			if verdict() != CRCGood {
				t.Fatalf("%d bytes, v6 %v: good one is %v", n, v6, verdict())
			}
			packet[map[bool]int{false: 8, true: 7}[v6]]--
			if verdict() != CRCGood {
				t.Fatalf("%d bytes, v6 %v: the hop limit counts", n, v6)
			}
			packet[len(packet)-5] ^= 0x10
			if verdict() != CRCBad {
				t.Fatalf("%d bytes, v6 %v: a turned bit is not seen", n, v6)
			}
			clear(packet[len(packet)-4:])
			if verdict() != CRCUnknown {
				t.Fatalf("%d bytes: a CRC that was left to the card", n)
			}
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, c := range packets {
		f.Add(uint16(c.link), len(c.data), []byte(c.data))
	}
	f.Fuzz(func(t *testing.T, link uint16, orig int, data []byte) {
		var x Frame
		x.Decode(files.LinkType(link), min(max(orig, 0), 1<<30), data)
		_ = describe(&x)
		if x.NumIPs > MaxDepth || x.Kind >= NumKinds || x.Orig < len(data) {
			t.Errorf("%+v", x)
		}
		_, _, _ = x.SrcMAC(), x.DstMAC(), x.IP()
		var other Frame
		if other.any(files.LinkType(link), x.Orig, data); !reflect.DeepEqual(x, other) {
			t.Errorf("%+v\nby the way of any packet: %+v", x, other)
		}
		x.ICRC()
	})
}
