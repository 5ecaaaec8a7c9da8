package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"whichlink/internal/lab"
)

// A check is one thing that this machine permits or lacks.
type check struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
	Why  string `json:"why"`
	Fix  string `json:"fix"`
}

func newDoctorCmd(e *env) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "What this machine permits and lacks, with the command that mends each",
		Long: `Doctor tries what the other commands need, on this machine only: it sends nothing beyond the loopback interface and changes nothing.
It prints what is missing with the command that mends it, and never runs that command.`,
		Args: args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			checks := examine(cmd.Context())
			if output == "json" {
				return printJSON(e.stdout, struct {
					Checks []check `json:"checks"`
				}{checks})
			}
			out := bufio.NewWriter(e.stdout)
			for _, c := range checks {
				word := "ok  "
				if !c.OK {
					word = "LACK"
				}
				fmt.Fprintf(out, "%s  %-22s %s\n", word, c.Name, c.Why)
				if c.Fix != "" {
					fmt.Fprintf(out, "      %-22s %s\n", "mend it:", c.Fix)
				}
			}
			return out.Flush()
		},
	}
	outputFlag(cmd, &output, "text", "json")
	return cmd
}

func examine(ctx context.Context) []check {
	return []check{examineProbing(ctx), examinePort(ctx), examineFiles(), examineRoom(), examineDrill(), examineSeed(), examineSettings()}
}

// examineProbing sends one probe to a closed port of the loopback interface: the kernel must hand back the ICMP error.
func examineProbing(ctx context.Context) check {
	c := check{Name: "unprivileged probing"}
	if runtime.GOOS != "linux" {
		c.Why = "needs the error queue of Linux sockets (IP_RECVERR); this is " + runtime.GOOS
		c.Fix = "run whichlink probe on the Linux hosts of the fabric; localize, fabric and the replay of evidence work here"
		return c
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "udp4", "127.0.0.1:9")
	if err != nil { // there are machines without IPv4
		conn, err = d.DialContext(ctx, "udp6", "[::1]:9")
	}
	if err != nil {
		c.Why = err.Error()
		return c
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	_, _ = conn.Write([]byte("whichlink doctor"))
	_, err = conn.Read(make([]byte, 1))
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		c.Why = "no ICMP error came back over the loopback interface: a firewall drops them"
		c.Fix = "allow ICMP time-exceeded and destination-unreachable to come in"
		return c
	}
	c.OK, c.Why = true, fmt.Sprintf("uid %d may send UDP probes and hears ICMP errors, no capability needed", os.Getuid())
	return c
}

// examinePort tries the reflector's port.
func examinePort(ctx context.Context) check {
	c := check{Name: "agent on port 862"}
	var l net.ListenConfig
	conn, err := l.ListenPacket(ctx, "udp", ":862")
	switch {
	case err == nil:
		_ = conn.Close()
		c.OK, c.Why = true, "the STAMP port may be opened"
	case errors.Is(err, os.ErrPermission):
		c.Why = "ports below 1024 are not for this user"
		c.Fix = "sudo sysctl -w net.ipv4.ip_unprivileged_port_start=862, or sudo setcap cap_net_bind_service=+ep $(command -v whichlink), or whichlink agent --port 8620 and --port 8620 for the probers"
	case strings.Contains(err.Error(), "in use"):
		c.OK, c.Why = true, "the port is in use: an agent or another STAMP reflector runs here"
	default:
		c.Why = err.Error()
	}
	return c
}

// examineRoom looks at how much a socket may hold: what comes to an agent that does not run for a moment waits there, or is lost.
func examineRoom() check {
	const file, want = "/proc/sys/net/core/rmem_max", 4 << 20 // bytes
	c := check{Name: "room in sockets", OK: true, Why: "not told by this system"}
	text, err := os.ReadFile(file)
	if err != nil {
		return c
	}
	most, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		c.Why = file + " holds no number"
		return c
	}
	c.OK, c.Why = most >= want, fmt.Sprintf("sockets hold up to %d KiB", most>>10)
	if !c.OK {
		c.Why += ", which some hundred probes fill while an agent does not run: they are lost, by its own doing"
		c.Fix = fmt.Sprintf("sudo sysctl -w net.core.rmem_max=%d, or let the agent have CAP_NET_ADMIN", want)
	}
	return c
}

func examineDrill() check {
	c := check{Name: "drill and lab"}
	err := lab.Available()
	if err == nil {
		c.OK, c.Why = true, "network namespaces, veth pairs and nftables work"
		return c
	}
	c.Why = err.Error()
	var lack *lab.UnavailableError
	if errors.As(err, &lack) {
		c.Why, c.Fix = lack.Why, lack.Remedy
	}
	return c
}

// examineSeed looks for the switch's own hash seed, without which all switches of a drill hash alike.
func examineSeed() check {
	c := check{Name: "ECMP hash seeds"}
	if _, err := os.Stat("/proc/sys/net/ipv4/fib_multipath_hash_seed"); err != nil {
		c.Why = "this kernel has no fib_multipath_hash_seed (Linux 6.11): all switches of a drill hash alike, and some paths go unused"
		c.Fix = "run the drill on Linux 6.11 or newer; probing real fabrics does not need it"
		return c
	}
	c.OK, c.Why = true, "each switch of a drill can hash by a seed of its own"
	return c
}
