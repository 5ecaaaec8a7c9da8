package diagnose

import (
	"fmt"
	"math"
	"strings"

	"whichlink/graphs"
	"whichlink/pathfind/localize"
	"whichlink/pathfind/next"
	"whichlink/pathfind/plan"
	"whichlink/probes"
)

const (
	// NewFlows is how many flows whichlink probe --to HOST makes, where neither a port nor --flows is given.
	NewFlows = 8
	// deadLoss is the loss beyond which hardly an answer comes back that tells on which way others were lost.
	deadLoss = 0.99
	// tracedPerSecond is how many new flows a host of a large fabric can trace within its share of what switches may be asked.
	tracedPerSecond = 1.5
	// leastSeconds is for how long somebody is told to measure, at least.
	leastSeconds = 5
)

// splitting finds the flows of one host that tell most about a suspect. Hosts that were heard of are asked first: others may run no agent.
func (s *Store) splitting(sus *localize.Suspect, blind func(src, dst graphs.NodeID) bool) (next.Run, bool) {
	if s.model == nil {
		return next.Run{}, false
	}
	cfg := next.Config{Known: s.known(s.agentPort()), Background: s.solved.Background, Blind: blind, Unsplit: sus.Loss > deadLoss}
	seen := s.presence
	for _, ends := range [][2]func(graphs.NodeID) bool{{seen.sends, seen.answers}, {seen.maySend, seen.mayAnswer}} {
		cfg.Sources, cfg.Targets = s.hosts(ends[0]), s.hosts(ends[1])
		if r, ok := s.planner().Split(sus, s.solved.Suspects, cfg); ok {
			return r, true
		}
	}
	return next.Run{}, false
}

// command writes a run as it is typed on the host that sends it.
func (s *Store) command(r *next.Run) string {
	var flags []string
	var fresh []graphs.NodeID
	flows := map[graphs.NodeID]int{}
	packets, most := 0, 0
	for _, c := range r.Choices {
		if packets += c.Packets; c.SrcPort != 0 {
			flags = append(flags, fmt.Sprintf("--to %s:%d", shellWord(s.fabric.NodeName(c.Dst)), c.SrcPort))
			continue
		}
		if flows[c.Dst]++; flows[c.Dst] == 1 {
			fresh = append(fresh, c.Dst)
		}
		most = max(most, flows[c.Dst])
	}
	for _, dst := range fresh {
		flags = append(flags, "--to "+shellWord(s.fabric.NodeName(dst)))
	}
	each := max(NewFlows, (most+NewFlows/2)/NewFlows*NewFlows)
	if len(fresh) > 0 && each > NewFlows {
		flags = append(flags, fmt.Sprintf("--flows %d", each))
	}
	traces := len(fresh) * each
	packets += traces * r.Enough
	seconds := math.Ceil(max(leastSeconds, float64(packets)/probes.DefaultRate, float64(traces)/tracedPerSecond))
	return s.probeFor(seconds, flags...)
}

// probeFor is the command line that measures for some seconds: along the flows that flags tell, or all that the plan has.
func (s *Store) probeFor(seconds float64, flags ...string) string {
	words := append([]string{s.probeCommand()}, flags...)
	return fmt.Sprintf("%s --for %.0fs --out %s", strings.Join(words, " "), seconds, runFile)
}

// runFile is where a run's evidence goes: each to a file of its own, also where several hosts or shells begin at once in a shared directory, and runFiles are
// all of them.
const (
	runFile  = "next-$(hostname)-$(date +%s)-$$.jsonl"
	runFiles = "next-*.jsonl"
)

// shellWord quotes a word for a shell where it needs that.
func shellWord(w string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.:/@%+,=", r)
	}
	if w != "" && strings.IndexFunc(w, func(r rune) bool { return !plain(r) }) < 0 {
		return w
	}
	return "'" + strings.ReplaceAll(graphs.Clean(w), "'", `'\''`) + "'"
}

// agentPort returns the port at which most flows of the evidence reached for reflectors.
func (s *Store) agentPort() uint16 {
	count := map[uint16]int{probes.DefaultPort: 0}
	most := uint16(probes.DefaultPort)
	for _, l := range s.order {
		if l.probed() {
			count[l.flow.DstPort]++
		}
	}
	for p, n := range count {
		if n > count[most] || n == count[most] && n > 0 && p < most {
			most = p
		}
	}
	return most
}

// known lists the probed flows of which a way was traced, and which whichlink probe can send again.
func (s *Store) known(port uint16) []next.Known {
	var list []next.Known
	for _, l := range s.order {
		path, back := l.now()
		if !l.probed() || l.flow.DstPort != port || !path.certain() && !back.certain() {
			continue
		}
		k := next.Known{Flow: l.planned()}
		k.There, k.Home = l.counts()
		if src, dst, err := probes.Ends(s.fabric, k.Flow); err != nil || src != l.flow.Src || dst != l.flow.Dst {
			continue // from that port, it goes to or comes from another address now
		}
		if path.certain() {
			k.Path = path.alternatives[0]
		}
		if back.certain() {
			k.Back = back.alternatives[0]
		}
		list = append(list, k)
	}
	return list
}

// planned is a probed flow as plans name it.
func (l *flowLog) planned() plan.Flow {
	return plan.Flow{Src: l.src, Dst: l.dst, SrcPort: l.flow.SrcPort}
}

// counts returns how many packets a flow sent and lost on the ways that it takes now.
func (l *flowLog) counts() (there, home next.Count) {
	path, back := l.now()
	for i := range l.echoes {
		e := &l.echoes[i]
		if !e.path.equal(path) || !e.back.equal(back) {
			continue
		}
		forward := e.lost // or back: nobody tells
		if e.split && e.lostForward+e.lostBack > 0 {
			forward = e.lostForward
			home.Lost += e.lostBack
		}
		there.Sent += e.sent
		there.Lost += forward
		home.Sent += e.sent - forward
	}
	return there, home
}

// recall adds what known flows sent and lost.
func (s *Store) recall(known []next.Known) {
	at := make(map[plan.Flow]int, len(known))
	for i := range known {
		at[known[i].Flow] = i
	}
	for _, l := range s.order {
		if i, ok := at[l.planned()]; ok && l.probed() {
			known[i].There, known[i].Home = l.counts()
		}
	}
}

// probeCommand begins the command that probes as this evidence was probed: where reflectors listen decides which way a flow takes, too.
func (s *Store) probeCommand() string {
	command := "whichlink probe --fabric " + s.fabricFile()
	if port := s.agentPort(); port != probes.DefaultPort {
		command += fmt.Sprintf(" --port %d", port)
	}
	return command
}

// fabricFile names the fabric's file in commands that are told.
func (s *Store) fabricFile() string {
	if name := s.cfg.FabricFile; name != "" && name != "-" && graphs.Clean(name) == name {
		return shellWord(name)
	}
	return "FILE"
}
