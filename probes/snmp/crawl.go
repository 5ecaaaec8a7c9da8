package snmp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"

	"whichlink/graphs/spelling"
)

// A CrawlConfig bounds a [Crawl]. The zero value of a field means its default.
type CrawlConfig struct {
	Credentials Credentials
	Limits      Limits
	// Agents is how many agents are asked at most, those that do not answer among them: 2,000. Depth is how many hops from the seeds: 64.
	Agents, Depth int
	// Parallel is how many agents are asked at a time, each with one request in flight: 32. Rate bounds the requests of all together a second: 500.
	Parallel int
	Rate     float64
	// Within are the networks in which agents are asked at addresses that neighbours tell: a community goes over the wire in clear, and a neighbour may
	// tell any address. By default see [Near].
	Within []netip.Prefix
	// Log is told what is asked and why not.
	Log *slog.Logger
}

func (c CrawlConfig) withDefaults() CrawlConfig {
	c.Agents, c.Depth, c.Parallel = cmp.Or(max(c.Agents, 0), 2000), cmp.Or(max(c.Depth, 0), 64), cmp.Or(max(c.Parallel, 0), 32)
	c.Rate = cmp.Or(max(c.Rate, 0), 500)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// Near returns the networks in which a crawl from some seeds asks by default: private ones (RFC 1918, RFC 4193), and those of 256 IPv4 addresses or
// of an IPv6 subnet in which the seeds are.
func Near(seeds []string) []netip.Prefix {
	near := []netip.Prefix{
		netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("172.16.0.0/12"), netip.MustParsePrefix("192.168.0.0/16"), netip.MustParsePrefix("fc00::/7"),
	}
	for _, s := range seeds {
		host, _, err := splitTarget(s)
		a, bad := netip.ParseAddr(host)
		if err != nil || bad != nil {
			continue
		}
		a = a.Unmap()
		bits := 24
		if a.Is6() {
			bits = 64
		}
		if p, err := a.WithZone("").Prefix(bits); err == nil && !a.IsPrivate() {
			near = append(near, p)
		}
	}
	return near
}

// A Crawled is what a crawl found.
type Crawled struct {
	// Systems are the agents that were asked, in the order of the seeds and then of who told of them. Those that did not answer have an Err and no rows.
	Systems []*System
	// Outside are addresses that neighbours told and that are in none of the networks in which agents are asked.
	Outside []netip.Addr
	// Unaddressed is how many neighbours tell no address at which they could be asked.
	Unaddressed int
	// Cut says by what bound the crawl ended before all were asked: empty if by none.
	Cut string
}

// A candidate is a system that is to be asked: at its addresses, one after the other until one answers.
type candidate struct {
	targets []string
	name    string // as a neighbour told
	hops    int
}

// Crawl asks the agents of the seeds, each HOST or HOST:PORT, who they are, what ports they have and whom these hear, then the neighbours at the
// addresses at which they say that they are managed (and at the port of who told of them), and so on, all of one distance before those of the
// next. A name is resolved only where it is a seed. Nothing is set; requests are GET and GETBULK.
//
// An agent that does not answer is data: its [System] has an error. When the context ends, what is known by then is returned.
func Crawl(ctx context.Context, seeds []string, c CrawlConfig) (*Crawled, error) {
	c = c.withDefaults()
	t := &turn{every: time.Duration(float64(time.Second) / c.Rate)}
	return crawlWith(ctx, seeds, c, func(ctx context.Context, target string) *System {
		return ReadSystem(ctx, target, c.Credentials, c.Limits, t.wait)
	})
}

// crawlWith is Crawl over any way to read a system.
func crawlWith(ctx context.Context, seeds []string, c CrawlConfig, read func(ctx context.Context, target string) *System) (*Crawled, error) {
	if c.Within == nil {
		c.Within = Near(seeds)
	}
	w := &crawl{CrawlConfig: c, read: read, found: &Crawled{}, asked: map[string]bool{}, outside: map[netip.Addr]bool{},
		own: map[netip.Addr]bool{}, boxes: map[box]bool{}, named: map[string][]*System{}}
	var next []candidate
	for _, s := range seeds {
		if _, _, err := splitTarget(s); err != nil {
			return nil, err
		}
		if w.fresh(s) {
			next = append(next, candidate{targets: []string{s}})
		}
	}
	for hops := 0; len(next) > 0; hops++ {
		if hops > w.Depth {
			w.found.Cut = fmt.Sprintf("what is more than %d hops from the seeds was not (%d systems that neighbours tell of)", w.Depth, len(next))
			break
		}
		if room := w.Agents - w.agents; len(next) > room {
			w.found.Cut = fmt.Sprintf("%d agents were asked, which is the bound; %d and what is behind them were not", w.Agents, len(next)-room)
			next = next[:room]
		}
		w.agents += len(next)
		answers := w.ask(ctx, next)
		if err := ctx.Err(); err != nil {
			w.found.Cut = "the time was up"
			if errors.Is(err, context.Canceled) {
				w.found.Cut = "it was stopped"
			}
		}
		next = w.takeIn(answers)
		if w.found.Cut != "" {
			break
		}
	}
	return w.found, nil
}

// A crawl is the state of Crawl.
type crawl struct {
	CrawlConfig
	found  *Crawled
	asked  map[string]bool // targets, with their port
	agents int
	read   func(ctx context.Context, target string) *System
	// outside are the addresses of Crawled.Outside.
	outside map[netip.Addr]bool
	// Of the systems that answered: their addresses, their chassis with their names, and they themselves by the canonical form of their names.
	own   map[netip.Addr]bool
	boxes map[box]bool
	named map[string][]*System
}

// fresh reports whether a target was not asked before, and notes that it is now.
func (w *crawl) fresh(target string) bool {
	host, port, err := splitTarget(target)
	key := net.JoinHostPort(host, strconv.Itoa(int(port)))
	if err != nil || w.asked[key] {
		return false
	}
	w.asked[key] = true
	return true
}

// ask asks all candidates, some at a time. The answers are in the candidates' order, whichever came first.
func (w *crawl) ask(ctx context.Context, of []candidate) []*System {
	answers := make([]*System, len(of))
	var next int
	var mu sync.Mutex // guards next
	var workers sync.WaitGroup
	for range min(w.Parallel, len(of)) {
		workers.Go(func() {
			for {
				mu.Lock()
				i := next
				next++
				mu.Unlock()
				if i >= len(of) || ctx.Err() != nil {
					return
				}
				answers[i] = w.askOne(ctx, of[i])
			}
		})
	}
	workers.Wait()
	return answers
}

// askOne asks a candidate at its addresses until one answers.
func (w *crawl) askOne(ctx context.Context, c candidate) *System {
	var s *System
	for _, target := range c.targets {
		began := time.Now()
		tried := s
		s = w.read(ctx, target)
		s.HeardAs, s.Hops, s.Took = c.name, c.hops, time.Since(began)
		w.Log.Info("asked", "agent", target, "hops", c.hops, "name", s.Name, "ports", len(s.Ports), "neighbours", len(s.Hears),
			"requests", s.Requests, "error", s.Err)
		if s.Answered() || ctx.Err() != nil {
			break
		}
		if tried != nil {
			s = tried // the first address is what a dead agent is called by
		}
	}
	return s
}

// Answered reports whether the agent said anything.
func (s *System) Answered() bool {
	return s.Err == nil || s.Name != "" || len(s.Ports) > 0 || len(s.Hears) > 0
}

// takeIn keeps what answered, once for each system however many of its addresses did, and returns who is to be asked next.
func (w *crawl) takeIn(answers []*System) []candidate {
	began := len(w.found.Systems)
	for _, s := range answers {
		if s == nil {
			continue // not asked any more
		}
		if s.Answered() {
			if same := w.known(s); same != nil {
				w.Log.Info("the same system", "agent", s.Target, "as", same.Target)
				continue
			}
			w.learn(s)
		}
		w.found.Systems = append(w.found.Systems, s)
	}
	var next []candidate
	for _, s := range w.found.Systems[began:] {
		_, port, _ := splitTarget(s.Target)
		for i := range s.Hears {
			h := &s.Hears[i]
			if len(h.Management) == 0 {
				w.found.Unaddressed++
				continue
			}
			if !w.knownBox(h) {
				if c := w.candidate(h, port); len(c.targets) > 0 {
					c.hops = s.Hops + 1
					next = append(next, c)
				}
			}
		}
	}
	return next
}

// candidate returns where a neighbour can be asked: at what nobody has been asked before.
func (w *crawl) candidate(h *Hearing, port uint16) candidate {
	c := candidate{name: h.Name}
	for _, a := range h.Management {
		within := false
		for _, p := range w.Within {
			within = within || p.Contains(a)
		}
		if !within {
			if !w.outside[a] {
				w.outside[a] = true
				w.found.Outside = append(w.found.Outside, a)
			}
			continue
		}
		if t := net.JoinHostPort(a.String(), strconv.Itoa(int(port))); w.fresh(t) {
			if port == 161 {
				t = a.String()
			}
			c.targets = append(c.targets, t)
		}
	}
	return c
}

// knownBox reports whether a neighbour has answered already: one of its addresses is that of a system that did, or it has the MAC address and the
// name of one.
func (w *crawl) knownBox(h *Hearing) bool {
	if h.Chassis.Kind == KindMAC && w.boxes[h.box()] {
		return true
	}
	return slices.ContainsFunc(h.Management, func(a netip.Addr) bool { return w.own[a] })
}

// learn notes by what a system that answered is known again.
func (w *crawl) learn(s *System) {
	w.own[s.Addr] = true
	for _, x := range s.Addresses {
		if !x.Prefix.Addr().IsLoopback() {
			w.own[x.Prefix.Addr()] = true
		}
	}
	if s.Chassis.Kind == KindMAC {
		w.boxes[box{s.Chassis.key(), spelling.Node(s.Name)}] = true
	}
	w.named[spelling.Node(s.Name)] = append(w.named[spelling.Node(s.Name)], s)
}

// A box is a chassis and a name: one alone may be that of two.
type box struct{ chassis, name string }

func (h *Hearing) box() box { return box{h.Chassis.key(), spelling.Node(h.Name)} }

// lists reports whether a system has an address, by its own word. Behind a translation of addresses that at which it was asked is none of its own.
func (s *System) lists(a netip.Addr) bool {
	return slices.ContainsFunc(s.Addresses, func(x SystemAddress) bool { return x.Prefix.Addr() == a })
}

// known returns the system that another one is, under another address. Two boxes may have one name, and clones one chassis and engine id too. Each
// lists its own addresses: if both do, that decides.
func (w *crawl) known(s *System) *System {
	for _, k := range w.named[spelling.Node(s.Name)] {
		if !sameName(k.Name, s.Name) {
			continue
		}
		if k.lists(k.Addr) && s.lists(s.Addr) {
			if k.lists(s.Addr) && s.lists(k.Addr) {
				return k
			}
		} else if k.Engine == s.Engine && k.Chassis.key() == s.Chassis.key() && (s.Engine != "" || s.Chassis.Text != "") {
			return k
		}
	}
	return nil
}

// A turn spaces the requests of all sessions together.
type turn struct {
	every time.Duration
	mu    sync.Mutex // guards next
	next  time.Time
}

// wait holds a request back until it is its turn.
func (t *turn) wait(ctx context.Context) {
	t.mu.Lock()
	now := time.Now()
	at := t.next
	if at.Before(now) {
		at = now
	}
	t.next = at.Add(t.every)
	t.mu.Unlock()
	if at.After(now) {
		select {
		case <-ctx.Done():
		case <-time.After(at.Sub(now)):
		}
	}
}
