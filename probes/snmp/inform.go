package snmp

import (
	"crypto/rand"
	"net/netip"
	"slices"
	"time"

	"github.com/gosnmp/gosnmp"

	"whichlink/probes/snmp/ber"
)

// An informed acknowledges informs (RFC 3416, 4.2.7). With SNMPv2c the answer is what was sent, with another type. With SNMPv3 the one who is asked for
// an answer is authoritative (RFC 3414, 1.5.1): senders ask for the engine and its clock before they send, and keys are of that engine.
type informed struct {
	credentials Credentials
	engine      string
	began       time.Time
	keyed       *gosnmp.UsmSecurityParameters // with keys of our engine; nil until they are needed, since they take milliseconds
	latest      map[netip.AddrPort]uint32     // request by sender
}

// mostInformers bounds how many senders are remembered by their newest request.
const mostInformers = 1024

// engineBoots of an engine whose ID is new each time that it begins.
const engineBoots = 1

// What reports tell (RFC 3414, 5).
const (
	oidUnknownEngine = "1.3.6.1.6.3.15.1.1.4.0" // usmStatsUnknownEngineIDs
	oidNotInWindow   = "1.3.6.1.6.3.15.1.1.2.0" // usmStatsNotInTimeWindows
)

func newInformed(c Credentials) *informed {
	// An ID of octets that somebody without an enterprise number made up (RFC 3411, 5: snmpEngineID, format 5).
	id := slices.Concat([]byte{0x80, 0, 0, 0, 5}, make([]byte, 8))
	_, _ = rand.Read(id[5:])
	return &informed{credentials: c, engine: string(id), began: time.Now(), latest: map[netip.AddrPort]uint32{}}
}

// addressed reports whether a message is for our engine, or asks for it.
func (x *informed) addressed(h *userHeader) bool {
	return len(h.engine) == 0 && h.flags&byte(gosnmp.Reportable) != 0 || string(h.engine) == x.engine
}

// admit checks a message for our engine. Whoever does not know it, or proves to know the password but not the clock, is told.
func (x *informed) admit(m trapMessage, h *userHeader) (client *gosnmp.GoSNMP, reply []byte, err error) {
	if len(h.engine) == 0 {
		return nil, x.report(h, oidUnknownEngine, &gosnmp.UsmSecurityParameters{
			AuthenticationProtocol: gosnmp.NoAuth, PrivacyProtocol: gosnmp.NoPriv, AuthoritativeEngineID: x.engine,
		}, gosnmp.NoAuthNoPriv), errTrapClock
	}
	if string(h.user) != x.credentials.User {
		return nil, nil, errTrapDenied
	}
	client = &gosnmp.GoSNMP{}
	x.credentials.apply(client)
	p := client.SecurityParameters.(*gosnmp.UsmSecurityParameters)
	p.AuthoritativeEngineID = x.engine
	if x.credentials.Auth == "" {
		return client, nil, nil
	}
	if x.keyed == nil {
		if err := p.InitSecurityKeys(); err != nil {
			return nil, nil, errTrapMalformed
		}
		x.keyed = p.Copy().(*gosnmp.UsmSecurityParameters)
	}
	p.SecretKey, p.PrivacyKey = x.keyed.SecretKey, x.keyed.PrivacyKey
	if h.flags&byte(gosnmp.AuthNoPriv) == 0 || !authentic(m.text, h.digest, p) {
		return nil, nil, errTrapDenied
	}
	if late := x.clock() - h.time; h.boots != engineBoots || late > timeWindow || late < -timeWindow {
		told := p.Copy().(*gosnmp.UsmSecurityParameters)
		told.PrivacyProtocol = gosnmp.NoPriv
		return nil, x.report(h, oidNotInWindow, told, gosnmp.AuthNoPriv), errTrapClock
	}
	return client, nil, nil
}

// clock is our engine's time in seconds.
func (x *informed) clock() int { return int(time.Since(x.began) / time.Second) }

// report tells who we are and what time it is here.
func (x *informed) report(h *userHeader, why string, p *gosnmp.UsmSecurityParameters, flags gosnmp.SnmpV3MsgFlags) []byte {
	return x.encode(&gosnmp.SnmpPacket{MsgID: uint32(h.message), ContextEngineID: x.engine, Variables: []gosnmp.SnmpPDU{{Name: why, Type: gosnmp.Counter32, Value: uint(1)}}},
		gosnmp.Report, p, flags)
}

// encode writes a message of SNMPv3 that answers another, with its numbers, context and values; nil if the library cannot.
func (x *informed) encode(to *gosnmp.SnmpPacket, kind gosnmp.PDUType, p *gosnmp.UsmSecurityParameters, flags gosnmp.SnmpV3MsgFlags) []byte {
	p.AuthoritativeEngineBoots, p.AuthoritativeEngineTime = engineBoots, uint32(x.clock())
	packet := &gosnmp.SnmpPacket{Version: gosnmp.Version3, SecurityModel: gosnmp.UserSecurityModel, SecurityParameters: p, MsgFlags: flags, PDUType: kind,
		MsgID: to.MsgID, RequestID: to.RequestID, ContextEngineID: to.ContextEngineID, ContextName: to.ContextName, Variables: to.Variables}
	if packet.SecurityParameters.InitPacket(packet) != nil {
		return nil
	}
	text, err := packet.MarshalMsg()
	if err != nil {
		return nil
	}
	return text
}

// answer is the acknowledgement of an inform that was admitted.
func (x *informed) answer(m trapMessage, p *gosnmp.SnmpPacket) []byte {
	if p.Version == gosnmp.Version3 {
		if h, ok := p.SecurityParameters.(*gosnmp.UsmSecurityParameters); !ok || h.AuthoritativeEngineID != x.engine {
			return nil // sent like a trap, with the sender's own engine: who does so hears no answer
		}
		g := &gosnmp.GoSNMP{}
		x.credentials.apply(g)
		with := g.SecurityParameters.(*gosnmp.UsmSecurityParameters)
		with.AuthoritativeEngineID = x.engine
		if x.keyed != nil {
			with.SecretKey, with.PrivacyKey = x.keyed.SecretKey, x.keyed.PrivacyKey
		}
		return x.encode(p, gosnmp.GetResponse, with, g.MsgFlags&gosnmp.AuthPriv)
	}
	reply := slices.Clone(m.text)
	message, _, _ := element(reply, ber.Sequence)
	_, rest, _ := berInt(message)
	_, pdu, ok := element(rest, ber.OctetString)
	if !ok || len(pdu) == 0 {
		return nil
	}
	pdu[0] = byte(gosnmp.GetResponse) // the error and its index are 0 in an inform, too
	return reply
}

// again reports whether a sender has sent a request before.
func (x *informed) again(from netip.AddrPort, request uint32) bool {
	old, ok := x.latest[from]
	if len(x.latest) >= mostInformers && !ok {
		clear(x.latest)
	}
	x.latest[from] = request
	return ok && old == request
}
