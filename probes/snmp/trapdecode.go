package snmp

import (
	"crypto/hmac"
	"crypto/subtle"
	"errors"
	"math"
	"time"

	"github.com/gosnmp/gosnmp"

	"whichlink/probes/snmp/ber"
)

// Why a message is not taken for a trap.
var (
	errTrapMalformed = errors.New("not a trap of SNMPv2c or SNMPv3")
	errTrapDenied    = errors.New("other credentials")
	errTrapReplayed  = errors.New("authentic, and old")
	errTrapClock     = errors.New("asks for our engine or its clock")
)

// A trapDecoder reads messages and believes those that bear the right credentials. Who sends a trap is the authoritative engine (RFC 3414, 1.5.1), so
// keys and clocks are kept for each engine: only for those that proved to know the password, since making a key costs milliseconds.
type trapDecoder struct {
	credentials Credentials
	client      gosnmp.GoSNMP // of v2c
	engines     map[string]*trapEngine
	informs     *informed
}

// A trapEngine is an agent of SNMPv3, by its engine ID.
type trapEngine struct {
	client      gosnmp.GoSNMP
	boots, time int
	at          time.Time
}

// timeWindow is by how many seconds a message may be late (RFC 3414, 2.2.3).
const timeWindow = 150

func newTrapDecoder(c Credentials) *trapDecoder {
	d := &trapDecoder{credentials: c, engines: map[string]*trapEngine{}, informs: newInformed(c)}
	c.apply(&d.client)
	return d
}

// decode reads one message, which it may change, and returns what is to be sent back, if anything. What the library cannot bear is malformed.
func (d *trapDecoder) decode(m trapMessage) (t Trap, reply []byte, err error) {
	defer func() {
		if recover() != nil {
			t, reply, err = Trap{}, nil, errTrapMalformed
		}
	}()
	client, reply, err := d.admit(m)
	if err != nil {
		return Trap{}, reply, err
	}
	p, err := client.UnmarshalTrap(m.text, false)
	if err != nil {
		return Trap{}, nil, errTrapMalformed
	}
	if p.PDUType != gosnmp.SNMPv2Trap && p.PDUType != gosnmp.InformRequest {
		return Trap{}, nil, errTrapMalformed
	}
	t, ok := trapOf(p.Variables)
	if !ok {
		return Trap{}, nil, errTrapMalformed
	}
	t.Time, t.From = m.at, m.from.Addr().Unmap().WithZone("")
	if p.PDUType == gosnmp.InformRequest {
		if reply = d.informs.answer(m, p); reply != nil && d.informs.again(m.from, p.RequestID) {
			return Trap{}, reply, errTrapReplayed
		}
	}
	return t, reply, nil
}

// admit checks what stands before the payload: the version, and who sends. A reply goes with an error alone.
func (d *trapDecoder) admit(m trapMessage) (client *gosnmp.GoSNMP, reply []byte, err error) {
	message, rest, ok := element(m.text, ber.Sequence)
	if !ok || len(rest) > 0 {
		return nil, nil, errTrapMalformed
	}
	version, rest, ok := berInt(message)
	switch {
	case !ok:
		return nil, nil, errTrapMalformed
	case version == int(gosnmp.Version3) && d.credentials.User != "":
		h, ok := readUserHeader(rest)
		if ok && d.informs.addressed(&h) {
			return d.informs.admit(m, &h)
		}
		client, err = d.admitUser(m, h, ok)
		return client, nil, err
	case version != int(gosnmp.Version2c) || d.credentials.User != "":
		return nil, nil, errTrapDenied
	}
	community, _, ok := element(rest, ber.OctetString)
	if !ok {
		return nil, nil, errTrapMalformed
	}
	if subtle.ConstantTimeCompare(community, []byte(d.credentials.Community)) != 1 {
		return nil, nil, errTrapDenied
	}
	return &d.client, nil, nil
}

// A userHeader is what a message of SNMPv3 says of its sender (RFC 3412, 6; RFC 3414, 2.4).
type userHeader struct {
	message     int // its number
	flags       byte
	engine      []byte
	boots, time int
	user        []byte
	digest      []byte // part of the message
}

func readUserHeader(rest []byte) (h userHeader, ok bool) {
	global, rest, ok := element(rest, ber.Sequence)
	if !ok {
		return h, false
	}
	message, global, ok1 := berInt(global)
	_, global, ok2 := berInt(global) // its sender's largest size
	flags, global, ok3 := element(global, ber.OctetString)
	model, _, ok4 := berInt(global)
	if !ok1 || !ok2 || !ok3 || !ok4 || len(flags) != 1 || model != int(gosnmp.UserSecurityModel) {
		return h, false
	}
	h.message, h.flags = message, flags[0]
	parameters, _, ok1 := element(rest, ber.OctetString)
	parameters, _, ok2 = element(parameters, ber.Sequence)
	h.engine, parameters, ok3 = element(parameters, ber.OctetString)
	h.boots, parameters, ok4 = berInt(parameters)
	if !ok1 || !ok2 || !ok3 || !ok4 {
		return h, false
	}
	h.time, parameters, ok1 = berInt(parameters)
	h.user, parameters, ok2 = element(parameters, ber.OctetString)
	h.digest, _, ok3 = element(parameters, ber.OctetString)
	return h, ok1 && ok2 && ok3
}

// admitUser checks the user, the message's authenticity, and that it is no replay.
func (d *trapDecoder) admitUser(m trapMessage, h userHeader, ok bool) (*gosnmp.GoSNMP, error) {
	// The size of an engine ID: RFC 3411, 5.
	if !ok || len(h.engine) < 5 || len(h.engine) > 32 {
		return nil, errTrapMalformed
	}
	if string(h.user) != d.credentials.User {
		return nil, errTrapDenied
	}
	e := d.engines[string(h.engine)]
	fresh := e == nil
	if fresh {
		e = &trapEngine{}
		d.credentials.apply(&e.client)
		parameters := e.client.SecurityParameters.(*gosnmp.UsmSecurityParameters)
		parameters.AuthoritativeEngineID = string(h.engine)
		if d.credentials.Auth == "" {
			return &e.client, nil // nothing is proved, and nothing is kept
		}
		// The key of authentication alone, which is cheap: that of privacy has to wait until the sender has proved itself.
		only := parameters.Copy().(*gosnmp.UsmSecurityParameters)
		only.PrivacyProtocol = gosnmp.NoPriv
		if err := only.InitSecurityKeys(); err != nil {
			return nil, errTrapMalformed
		}
		parameters.SecretKey = only.SecretKey
	}
	parameters := e.client.SecurityParameters.(*gosnmp.UsmSecurityParameters)
	if d.credentials.Auth == "" {
		return &e.client, nil
	}
	if h.flags&byte(gosnmp.AuthNoPriv) == 0 || !authentic(m.text, h.digest, parameters) {
		return nil, errTrapDenied
	}
	if !fresh {
		late := e.time + int(m.at.Sub(e.at)/time.Second) - h.time
		if h.boots < e.boots || h.boots == e.boots && late > timeWindow {
			return nil, errTrapReplayed
		}
	}
	if fresh {
		if err := parameters.InitSecurityKeys(); err != nil {
			return nil, errTrapMalformed
		}
		d.engines[string(h.engine)] = e
	}
	if fresh || h.boots > e.boots || h.time > e.time {
		e.boots, e.time, e.at = h.boots, h.time, m.at
	}
	return &e.client, nil
}

// authentic reports whether a message bears the digest of its text with zeros in the digest's place (RFC 3414, 6.3.2; RFC 7860, 4.2.2).
func authentic(message, digest []byte, p *gosnmp.UsmSecurityParameters) bool {
	hash := p.AuthenticationProtocol.HashType()
	size := map[gosnmp.SnmpV3AuthProtocol]int{
		gosnmp.MD5: 12, gosnmp.SHA: 12, gosnmp.SHA224: 16, gosnmp.SHA256: 24, gosnmp.SHA384: 32, gosnmp.SHA512: 48,
	}[p.AuthenticationProtocol]
	if len(digest) != size || size == 0 {
		return false
	}
	said := append(make([]byte, 0, 48), digest...)
	clear(digest)
	mac := hmac.New(hash.New, p.SecretKey)
	mac.Write(message)
	copy(digest, said) // the library looks again
	return hmac.Equal(mac.Sum(nil)[:size], said)
}

// element takes one element with the given tag off the front of a text.
func element(text []byte, tag byte) (body, rest []byte, ok bool) {
	c := ber.Cursor{Rest: text}
	body = c.In(tag)
	return body, c.Rest, !c.Bad && !c.Cut
}

// berInt takes an integer of at most 32 bits that is not negative off the front of a text.
func berInt(text []byte) (n int, rest []byte, ok bool) {
	body, rest, ok := element(text, ber.Integer)
	if !ok || len(body) == 0 || len(body) > 5 || body[0]&0x80 != 0 {
		return 0, nil, false
	}
	var wide int64
	for _, b := range body {
		wide = wide<<8 | int64(b)
	}
	return int(wide), rest, wide < 1<<32 && wide <= math.MaxInt
}
