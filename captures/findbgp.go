package captures

import (
	"bytes"
	"fmt"

	"whichlink/captures/frames"
	"whichlink/graphs"
)

const bgpPort = 179

// bgpNotification is the type of the message that ends a session (RFC 4271 section 4.5).
const bgpNotification = 3

var bgpMarker = bytes.Repeat([]byte{0xff}, 16)

// bgpErrors are the codes of notifications, and bgpCeases the subcodes of cease (RFC 4271, 4486, 8203, 9384, 9003).
var (
	bgpErrors = []string{"", "message header error", "OPEN message error", "UPDATE message error", "hold timer expired", "finite state machine error",
		"cease", "ROUTE-REFRESH error", "send hold timer expired"}
	bgpCeases = []string{"", "maximum number of prefixes", "administrative shutdown", "peer de-configured", "administrative reset", "connection rejected",
		"other configuration change", "connection collision resolution", "out of resources", "hard reset", "BFD down"}
)

// A bgpSession is what became of one TCP connection of BGP.
type bgpSession struct {
	number    uint32
	messages  bool
	notified  bool
	ended     bool
	dir       int // who notified or closed
	code, sub uint8
	words     string // of a shutdown communication (RFC 9003)
	at        int64
	refused   bool
	reset     bool
}

// A bgpFinder tells when sessions of BGP ended and what the end said.
type bgpFinder struct {
	a        *Analyzer
	sessions roll[uint32, bgpSession] // by flow
}

func newBGPFinder(a *Analyzer) finder {
	return &bgpFinder{a: a, sessions: roll[uint32, bgpSession]{most: maxTold}}
}

func (f *bgpFinder) see(s *Sight) {
	if s.flow == nil {
		return
	}
	b, _ := f.sessions.of(s.number)
	if b == nil {
		return
	}
	b.number = s.number
	t := &s.Frame.TCP
	if t.Len > 0 && s.kind == tcpNormal {
		end := min(s.Frame.End, len(s.Data))
		b.read(s, s.Data[max(0, min(end, s.Frame.End-t.Len)):end])
	}
	if t.Flags&(frames.RST|frames.FIN) != 0 && !b.ended {
		b.ended = true
		b.reset = t.Flags&frames.RST != 0
		b.refused = b.reset && !b.messages && s.flow.state&sawSyn != 0
		if !b.notified {
			b.at, b.dir = s.Time, s.Dir
		}
	}
}

// read looks for messages in a segment: the marker in front of each finds the first that begins in it.
func (b *bgpSession) read(s *Sight, p []byte) {
	for {
		at := bytes.Index(p, bgpMarker)
		if at < 0 || len(p) < at+19 {
			return
		}
		p = p[at:]
		length := int(p[16])<<8 | int(p[17])
		if length < 19 {
			return
		}
		b.messages = true
		if p[18] == bgpNotification && length >= 21 && len(p) >= 21 && !b.notified {
			b.notified, b.code, b.sub, b.dir, b.at = true, p[19], p[20], s.Dir, s.Time
			if body := p[21:min(length, len(p))]; b.code == 6 && (b.sub == 2 || b.sub == 4) && len(body) > 1 && int(body[0]) < len(body) {
				b.words = graphs.Clean(string(body[1 : 1+body[0]]))
			}
		}
		p = p[min(length, len(p)):]
	}
}

func (f *bgpFinder) report(r *Report) {
	var notified, ended, refused ranking
	for _, k := range []*ranking{&notified, &ended, &refused} {
		k.most = f.a.cfg.MaxFindings
	}
	for i := range f.sessions.all {
		b := &f.sessions.all[i]
		c := candidate{1, b.at, b.at, uint32(i), 0}
		switch {
		case b.notified:
			notified.add(c)
		case b.refused:
			refused.add(c)
		case b.ended && (b.messages || f.a.flows.flows.at(b.number).state&sawSyn == 0):
			ended.add(c)
		}
	}
	tell := func(k *ranking, name, rule, filter string, severity Severity, text func(b *bgpSession) string) {
		k.tell(r, func(c candidate) Finding {
			b := &f.sessions.all[c.number]
			e := f.a.flows.flows.at(b.number).evidence(b.dir)
			return Finding{Finding: name, Severity: severity, Subject: flowName(e), Text: text(b), Rule: rule, Filter: flowFilter(e) + " && " + filter, like: filter, about: chooseFlow(e)}
		})
	}
	tell(&notified, "bgp-notification", "BGP message of type 3 (RFC 4271)", "bgp.type == 3", Critical, func(b *bgpSession) string {
		return "the session was ended by a notification: " + b.cause()
	})
	tell(&ended, "bgp-closed", "RST or FIN without a BGP notification", "(tcp.flags.reset == 1 || tcp.flags.fin == 1)", Critical, func(b *bgpSession) string {
		if b.reset {
			return "the session was reset without a notification"
		}
		return "the session was closed without a notification"
	})
	tell(&refused, "bgp-refused", "RST before any BGP message", "tcp.flags.reset == 1", Warning, func(*bgpSession) string {
		return "the connection was refused: nobody listens, or the peer is not configured there"
	})
}

// cause names the error of a notification.
func (b *bgpSession) cause() string {
	text := fmt.Sprintf("error %d", b.code)
	if int(b.code) < len(bgpErrors) && b.code > 0 {
		text = bgpErrors[b.code]
	}
	switch {
	case b.code == 6 && b.sub > 0 && int(b.sub) < len(bgpCeases):
		text += ", " + bgpCeases[b.sub]
	case b.code == 2 && b.sub == 2:
		text += ", bad peer AS"
	case b.sub > 0:
		text += fmt.Sprintf(", subcode %d", b.sub)
	}
	if b.words != "" {
		text += ": " + b.words
	}
	return text
}
