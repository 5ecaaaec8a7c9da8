package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"runtime"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"whichlink/probes"
)

// runs executes one command and returns what it wrote.
func runs(t *testing.T, make func(*env) *cobra.Command, arguments ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := make(&env{stdout: &out, stderr: &errs})
	cmd.SetArgs(arguments)
	cmd.SetOut(&out)
	cmd.SetErr(&errs)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err = cmd.ExecuteContext(t.Context())
	return out.String(), errs.String(), err
}

// reflector runs one on the loopback and returns its port.
func reflector(t *testing.T) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("probing needs Linux")
	}
	for port := uint16(21862); port < 21900; port++ {
		r, err := probes.NewReflector(probes.ReflectorConfig{Ports: []uint16{port}, Address: netip.MustParseAddr("127.0.0.1"), Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			continue
		}
		ctx, stop := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- r.Run(ctx) }()
		t.Cleanup(func() {
			stop()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
		return fmt.Sprint(port)
	}
	t.Fatal("no port for a reflector")
	return ""
}

func TestTraceJSON(t *testing.T) {
	port := reflector(t)
	out, said, err := runs(t, newTraceCmd, "127.0.0.1", "--port", port, "--flows", "3", "--sport", "23000", "-o", "json")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(said, "packets/s") {
		t.Errorf("the rate is not stated: %q", said)
	}
	var r struct {
		Src, Dst    string
		Flows       []map[string]json.RawMessage
		Paths, Sent int
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	if r.Src != "127.0.0.1" || r.Dst != "127.0.0.1" || len(r.Flows) != 3 || r.Paths != 1 || r.Sent < 60 {
		t.Errorf("%+v", r)
	}
	var hops []map[string]any
	if err := json.Unmarshal(r.Flows[0]["hops"], &hops); err != nil {
		t.Fatal(err)
	}
	if string(r.Flows[0]["reached"]) != "true" || len(hops) != 1 || hops[0]["ttl"] != 1.0 || hops[0]["address"] != "127.0.0.1" || hops[0]["class"] != "ok" {
		t.Errorf("%s", out)
	}
}

func TestTraceText(t *testing.T) {
	port := reflector(t)
	out, _, err := runs(t, newTraceCmd, "127.0.0.1", "--port", port, "--flows", "1", "--sport", "23010")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"127.0.0.1 to 127.0.0.1: 1 flow, 1 path, ", "0 of 20 echoes lost", "unanswered is not lost"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in %s", want, out)
		}
	}
}

func TestPingJSON(t *testing.T) {
	port := reflector(t)
	out, _, err := runs(t, newPingCmd, "127.0.0.1", "localhost", "-4", "--port", port, "--flows", "2", "--sport", "23020", "-c", "5", "-o", "json")
	if err == nil || !strings.Contains(err.Error(), "one destination") {
		t.Fatalf("the same destination twice: %v %s", err, out)
	}
	out, _, err = runs(t, newPingCmd, "127.0.0.1", "--port", port, "--flows", "2", "--sport", "23020", "-c", "5", "-o", "json")
	if err != nil {
		t.Fatal(err)
	}
	var r struct {
		Targets []struct {
			Method     string
			Sent, Lost int
			Flows      []map[string]any
		}
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Targets) != 1 || r.Targets[0].Method != probes.MethodSTAMP || r.Targets[0].Sent != 10 || r.Targets[0].Lost != 0 || len(r.Targets[0].Flows) != 2 {
		t.Errorf("%s", out)
	}
}

func TestPingWithoutReflector(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("probing needs Linux")
	}
	out, _, err := runs(t, newPingCmd, "127.0.0.1", "--port", "9", "--flows", "2", "--sport", "23030", "-c", "2", "-o", "json")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out, `"method": "tcp-syn"`) || !strings.Contains(out, "no reflector") || !strings.Contains(out, `"sent": 4`) {
		t.Error(out)
	}
}

func TestProbingUsage(t *testing.T) {
	for _, c := range []struct {
		make      func(*env) *cobra.Command
		arguments string
		want      string
	}{
		{newTraceCmd, "", "0 arguments"},
		{newTraceCmd, "127.0.0.1 --flows 0", "--flows 0"},
		{newTraceCmd, "127.0.0.1 --rate 0", "--rate"},
		{newTraceCmd, "127.0.0.1 -4 -6", "exclude"},
		{newTraceCmd, "127.0.0.1 -6", "family"},
		{newTraceCmd, "127.0.0.1 --max-ttl 65", "--max-ttl"},
		{newPingCmd, "127.0.0.1 --count 0", "--count"},
		{newPingCmd, "127.0.0.1 --sport 65535", "65535"},
		{newAgentCmd, "--port 70000", "70000"},
		{newAgentCmd, "--allow nonsense", "nonsense"},
		{newAgentCmd, "x", "1 arguments"},
	} {
		_, _, err := runs(t, c.make, strings.Fields(c.arguments)...)
		var usage usageError
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v", c.arguments, err)
		}
	}
}

// TestTraceGaps: a flow whose first hop left all its probes unanswered took the one path that fits, where others were answered on it: the hop limits its
// answers. Where two paths fit, or none, it stays apart.
func TestTraceGaps(t *testing.T) {
	hop := func(address string, sent, answered int) probes.Hop {
		h := probes.Hop{Sent: sent, Answered: answered}
		if answered > 0 {
			h.Responders = []probes.Responder{{Addr: netip.MustParseAddr(address), Answered: answered}}
		}
		return h
	}
	trace := func(first probes.Hop, second string) probes.Trace {
		return probes.Trace{Reached: true, Method: probes.MethodSTAMP, Hops: []probes.Hop{first, hop(second, 3, 3), hop("10.0.9.9", 3, 3)}}
	}
	var r traceResult
	traces := []probes.Trace{trace(hop("", 33, 0), "10.0.2.1"), trace(hop("10.0.1.1", 3, 3), "10.0.2.1"), trace(hop("10.0.1.2", 3, 3), "10.0.2.2"), trace(hop("", 3, 0), "10.0.2.3")}
	var counts []*flowCounts
	for range traces {
		counts = append(counts, &flowCounts{Sent: 20})
	}
	r.add(nil, traces, counts)
	r.Paths = paths(r.Flows)
	var out bytes.Buffer
	if err := r.print(&out); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(out.String(), "\npath "); r.Paths != 2 || got != 3 {
		t.Errorf("%d paths counted, %d told:\n%s", r.Paths, got, out.String())
	}
	if a, b := r.Flows[0].Hops[0].Class, r.Flows[3].Hops[0].Class; a != probes.ClassRateLimited || b != probes.ClassSilent {
		t.Errorf("classes %s and %s, want rate-limited and silent", a, b)
	}
	if !strings.Contains(out.String(), "10.0.1.1        3/36      rate-limited") {
		t.Errorf("no row of the hop that limits its answers:\n%s", out.String())
	}
}
