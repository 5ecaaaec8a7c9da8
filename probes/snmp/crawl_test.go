package snmp

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// town is a network of agents by target, and counts how often each was asked.
type town struct {
	mu    sync.Mutex
	asked map[string]int
	// by target: "name hears name@address name@address"; a name that several targets have is one box if both list it.
	says map[string]string
}

func (n *town) read(_ context.Context, target string) *System {
	n.mu.Lock()
	n.asked[target]++
	n.mu.Unlock()
	host, _, _ := splitTarget(target)
	a := netip.MustParseAddr(host)
	says, ok := n.says[target]
	if !ok {
		return &System{Target: target, Addr: a, Err: fmt.Errorf("%s: %w", target, ErrNoAnswer)}
	}
	name, hears, _ := strings.Cut(says, " hears ")
	name, list, _ := strings.Cut(name, "=")
	s := &System{Target: target, Addr: a, Name: name, Chassis: ID{KindLocal, name}, Addresses: []SystemAddress{{1, netip.PrefixFrom(a, 24)}}}
	for _, x := range strings.Split(list, ",") {
		if b, err := netip.ParseAddr(x); err == nil {
			s.Addresses = append(s.Addresses, SystemAddress{1, netip.PrefixFrom(b, 24)})
		}
	}
	for i, h := range strings.Fields(hears) {
		name, at, _ := strings.Cut(h, "@")
		x := Hearing{Protocol: LLDP, Number: uint32(i), Name: name, Chassis: ID{KindLocal, name}, Far: FarUnknown}
		for _, a := range strings.Split(at, ",") {
			if b, err := netip.ParseAddr(a); err == nil {
				x.manage(b)
			}
		}
		s.Hears = append(s.Hears, x)
	}
	return s
}

func TestCrawl(t *testing.T) {
	line := map[string]string{
		"10.0.0.1": "a hears b@10.0.0.2", "10.0.0.2": "b hears a@10.0.0.1 c@10.0.0.3", "10.0.0.3": "c hears b@10.0.0.2 d@10.0.0.4", "10.0.0.4": "d hears c@10.0.0.3",
	}
	private := func(c CrawlConfig) CrawlConfig { return c.withDefaults() }
	for _, c := range []struct {
		about   string
		says    map[string]string
		seeds   string
		config  CrawlConfig
		want    string // names in order, with hops; an address for what does not answer
		outside string
		cut     string
	}{
		{about: "a line", says: line, seeds: "10.0.0.1", want: "a0 b1 c2 d3"},
		{about: "from the middle, a seed twice", says: line, seeds: "10.0.0.2 10.0.0.2:161", want: "b0 a1 c1 d2"},
		{about: "depth", says: line, seeds: "10.0.0.1", config: CrawlConfig{Depth: 2}, want: "a0 b1 c2", cut: "what is more than 2 hops from the seeds was not (1 "},
		{about: "count", says: line, seeds: "10.0.0.1", config: CrawlConfig{Agents: 3}, want: "a0 b1 c2", cut: "3 agents were asked"},
		{about: "two addresses of one box", seeds: "10.0.0.1", want: "a0 b1", says: map[string]string{
			"10.0.0.1": "a hears b@10.0.0.2 b@10.0.1.2", "10.0.0.2": "b=10.0.1.2 hears a@10.0.0.1", "10.0.1.2": "b=10.0.0.2 hears a@10.0.0.1",
		}},
		{about: "two boxes of one name and one chassis id", seeds: "10.0.0.1", want: "a0 vm1 vm1", says: map[string]string{
			"10.0.0.1": "a hears vm@10.0.0.2 vm@10.0.0.3", "10.0.0.2": "vm hears a@10.0.0.1", "10.0.0.3": "vm hears a@10.0.0.1",
		}},
		{about: "the second address answers", seeds: "10.0.0.1", want: "a0 b1", says: map[string]string{"10.0.0.1": "a hears b@10.9.9.9,10.0.0.2", "10.0.0.2": "b hears a@10.0.0.1"}},
		{about: "dead", seeds: "10.0.0.1", want: "a0 10.0.0.2?1", says: map[string]string{"10.0.0.1": "a hears b@10.0.0.2"}},
		{about: "addresses of others", seeds: "10.0.0.1", want: "a0", outside: "8.8.8.8 127.0.0.1", says: map[string]string{
			"10.0.0.1": "a hears b@8.8.8.8 c@127.0.0.1 c@127.0.0.1 d@0.0.0.0 e@224.0.0.1 f@169.254.0.1", "8.8.8.8": "b", "127.0.0.1": "c",
		}},
		{about: "near a seed", seeds: "192.0.2.1", want: "a0 b1", outside: "192.0.3.1", says: map[string]string{"192.0.2.1": "a hears b@192.0.2.9 c@192.0.3.1", "192.0.2.9": "b"}},
		{about: "within", seeds: "10.0.0.1", config: CrawlConfig{Within: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/31")}}, want: "a0", outside: "10.0.0.2", says: line},
		{about: "the seed's port", seeds: "10.0.0.1:1161", want: "a0 b1", says: map[string]string{"10.0.0.1:1161": "a hears b@10.0.0.2", "10.0.0.2:1161": "b"}},
	} {
		n := &town{asked: map[string]int{}, says: c.says}
		found, err := crawlWith(t.Context(), strings.Fields(c.seeds), private(c.config), n.read)
		if err != nil {
			t.Fatalf("%s: %v", c.about, err)
		}
		var got, outside []string
		for _, s := range found.Systems {
			if s.Answered() {
				got = append(got, fmt.Sprint(s.Name, s.Hops))
			} else {
				got = append(got, fmt.Sprint(s.Target, "?", s.Hops))
			}
		}
		for _, a := range found.Outside {
			outside = append(outside, a.String())
		}
		if d := cmp.Diff([]string{c.want, c.outside}, []string{strings.Join(got, " "), strings.Join(outside, " ")}); d != "" {
			t.Errorf("%s: %s", c.about, d)
		}
		if (found.Cut == "") != (c.cut == "") || !strings.HasPrefix(found.Cut, c.cut) {
			t.Errorf("%s: cut %q, want %q", c.about, found.Cut, c.cut)
		}
		for target, times := range n.asked {
			if times > 1 {
				t.Errorf("%s: %s was asked %d times", c.about, target, times)
			}
		}
	}
}

// A crawl that is stopped returns what it has.
func TestCrawlStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	n := &town{asked: map[string]int{}, says: map[string]string{"10.0.0.1": "a hears b@10.0.0.2", "10.0.0.2": "b hears a@10.0.0.1"}}
	found, err := crawlWith(ctx, []string{"10.0.0.1"}, CrawlConfig{}.withDefaults(), func(ctx context.Context, target string) *System {
		cancel()
		return n.read(ctx, target)
	})
	if err != nil || len(found.Systems) != 1 || found.Cut != "it was stopped" {
		t.Errorf("got %d systems, cut %q, error %v", len(found.Systems), found.Cut, err)
	}
	if _, err := Crawl(t.Context(), []string{"10.0.0.1:0"}, CrawlConfig{}); err == nil || errors.Is(err, ErrNoAnswer) {
		t.Errorf("a target without a port: %v", err)
	}
}
