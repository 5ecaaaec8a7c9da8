package snmp

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/gosnmp/gosnmp"

	"whichlink/graphs"
)

// CommunityVariable is the environment variable that holds the community of SNMPv2c.
const CommunityVariable = "WHICHLINK_SNMP_COMMUNITY"

// Credentials are what an agent asks for. With a User they are SNMPv3's (RFC 3414, RFC 7860, RFC 3826), else SNMPv2c's.
// They print as nothing, so that no log and no record can hold them by accident.
type Credentials struct {
	Community string
	User      string
	// Auth is one of MD5, SHA, SHA-224, SHA-256, SHA-384, SHA-512; Priv one of DES, AES, AES-192, AES-256. Empty means none.
	Auth, AuthPassword string
	Priv, PrivPassword string
	// Context is the SNMPv3 context name.
	Context string
}

// String hides what is secret.
func (c Credentials) String() string {
	if c.User != "" {
		return "SNMPv3 credentials"
	}
	return "SNMPv2c credentials"
}

// GoString hides what is secret.
func (c Credentials) GoString() string { return c.String() }

// ReadCredentials reads a file of lines `key value`: community, user, auth and priv (protocol and password), context. Lines that begin with # are
// skipped. Errors name the line, never what stands in it.
func ReadCredentials(r io.Reader, file string) (Credentials, error) {
	var c Credentials
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, value, _ := strings.Cut(line, " ")
		value = strings.TrimSpace(value)
		protocol, password, _ := strings.Cut(value, " ")
		password = strings.TrimSpace(password)
		fail := func(want string) error { return fmt.Errorf("%s:%d: want %s", file, n, want) }
		switch key {
		case "community":
			if c.Community = value; value == "" {
				return Credentials{}, fail("community NAME")
			}
		case "user":
			if c.User = value; value == "" {
				return Credentials{}, fail("user NAME")
			}
		case "context":
			c.Context = value
		case "auth":
			if _, ok := authProtocols[protocol]; !ok || len(password) < 8 {
				return Credentials{}, fail("auth PROTOCOL PASSWORD, the protocol MD5, SHA, SHA-224, SHA-256, SHA-384 or SHA-512 and the password of 8 characters or more")
			}
			c.Auth, c.AuthPassword = protocol, password
		case "priv":
			if _, ok := privProtocols[protocol]; !ok || len(password) < 8 {
				return Credentials{}, fail("priv PROTOCOL PASSWORD, the protocol DES, AES, AES-192 or AES-256 and the password of 8 characters or more")
			}
			c.Priv, c.PrivPassword = protocol, password
		default:
			return Credentials{}, fail("community, user, auth, priv or context")
		}
	}
	if err := lines.Err(); err != nil {
		return Credentials{}, fmt.Errorf("%s: %w", file, err)
	}
	switch {
	case c.User == "" && c.Community == "":
		return Credentials{}, fmt.Errorf("%s: neither a community nor a user", file)
	case c.User == "" && (c.Auth != "" || c.Priv != ""):
		return Credentials{}, fmt.Errorf("%s: auth and priv need a user", file)
	case c.Priv != "" && c.Auth == "":
		return Credentials{}, fmt.Errorf("%s: priv needs auth", file)
	}
	return c, nil
}

// LoadCredentials reads a file of credentials that nobody but its owner may read (mode 0600 or less). Without a file it takes the community
// from the environment.
func LoadCredentials(file string) (Credentials, error) {
	if file == "" {
		if c := os.Getenv(CommunityVariable); c != "" {
			return Credentials{Community: c}, nil
		}
		return Credentials{}, fmt.Errorf("no SNMP credentials: set %s or name a file with --credentials", CommunityVariable)
	}
	f, err := os.Open(file)
	if err != nil {
		return Credentials{}, fmt.Errorf("read credentials %s: %w", graphs.Clean(file), graphs.Reason(err))
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Credentials{}, err
	}
	if !info.Mode().IsRegular() {
		return Credentials{}, fmt.Errorf("%s: not a regular file", file)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return Credentials{}, fmt.Errorf("%s: others may read it (mode %04o): chmod 600", file, info.Mode().Perm())
	}
	return ReadCredentials(io.LimitReader(f, 64<<10), file)
}

var authProtocols = map[string]gosnmp.SnmpV3AuthProtocol{
	"MD5": gosnmp.MD5, "SHA": gosnmp.SHA, "SHA-224": gosnmp.SHA224, "SHA-256": gosnmp.SHA256, "SHA-384": gosnmp.SHA384, "SHA-512": gosnmp.SHA512,
}

var privProtocols = map[string]gosnmp.SnmpV3PrivProtocol{
	"DES": gosnmp.DES, "AES": gosnmp.AES, "AES-192": gosnmp.AES192, "AES-256": gosnmp.AES256,
}

// apply sets the credentials of a client.
func (c Credentials) apply(g *gosnmp.GoSNMP) {
	if c.User == "" {
		g.Version, g.Community = gosnmp.Version2c, c.Community
		return
	}
	g.Version, g.SecurityModel, g.ContextName = gosnmp.Version3, gosnmp.UserSecurityModel, c.Context
	p := &gosnmp.UsmSecurityParameters{UserName: c.User, AuthenticationProtocol: gosnmp.NoAuth, PrivacyProtocol: gosnmp.NoPriv}
	g.MsgFlags = gosnmp.NoAuthNoPriv
	if c.Auth != "" {
		g.MsgFlags = gosnmp.AuthNoPriv
		p.AuthenticationProtocol, p.AuthenticationPassphrase = authProtocols[c.Auth], c.AuthPassword
	}
	if c.Priv != "" {
		g.MsgFlags = gosnmp.AuthPriv
		p.PrivacyProtocol, p.PrivacyPassphrase = privProtocols[c.Priv], c.PrivPassword
	}
	g.SecurityParameters = p
}
