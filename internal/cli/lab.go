package cli

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"whichlink/graphs"
	"whichlink/graphs/formats"
	"whichlink/internal/lab"
)

// defaultLab is the name of a lab that was not given one.
const defaultLab = "drill"

// newLabCmd is whichlink lab: fabrics in network namespaces, with faults to put in.
func newLabCmd(e *env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lab",
		Short: "A fabric in network namespaces: real packets, faults at will",
		Long: `A lab is a fabric made of network namespaces on this machine: the Linux kernel forwards real packets over equal paths,
and faults are put in at will. It needs root, or a system that permits unprivileged user namespaces. Nothing outside is touched.

Made by root, every node is a namespace called NAME-NODE, which ip netns exec enters too. Otherwise whichlink lab exec is the way in.`,
		Args: cobra.ArbitraryArgs,
		RunE: needsCommand,
	}
	cmd.AddCommand(newLabUpCmd(e), newLabBreakCmd(e), newLabHealCmd(e), newLabExecCmd(e), newLabTruthCmd(e), newLabListCmd(e),
		newLabDownCmd(e), newLabKeepCmd(e), newLabAgentsCmd(), newLabCountersCmd(e))
	return cmd
}

// labError gives errors of the lab their remedy.
func labError(err error) error {
	var why *lab.UnavailableError
	var agents *lab.AgentsError
	var dead *lab.DeadError
	switch {
	case errors.As(err, &dead):
		return withHint(err, "whichlink lab down %s removes what is left", dead.Name)
	case errors.As(err, &agents) && agents.Remedy != "":
		return withHint(err, "%s", agents.Remedy)
	case errors.As(err, &why) && why.Remedy != "":
		return withHint(err, "%s", why.Remedy)
	case errors.Is(err, lab.ErrNoLab):
		return withHint(err, "whichlink lab list shows the labs, whichlink lab up makes one")
	}
	return err
}

func newLabUpCmd(e *env) *cobra.Command {
	var name, output string
	var hashSeed uint64
	var convergence time.Duration
	var snmp bool
	up := &cobra.Command{
		Use:     "up SHAPE",
		Short:   "Make a lab of a shape, or of the fabric in a file",
		Example: "  whichlink lab up leafspine --leaves 4 --spines 4 --hosts 2\n  whichlink lab up random --switches 16 --degree 4 --hosts 1 --seed 3\n  whichlink lab up file F.clab.yml --name mine",
		Args: func(cmd *cobra.Command, got []string) error {
			err := usagef("lab up needs a shape")
			if len(got) > 0 {
				err = usagef("no shape is called %q", graphs.Clean(got[0]))
			}
			return withHint(err, "the shapes are %s", commandNames(cmd))
		},
		RunE: func(*cobra.Command, []string) error { return nil },
	}
	build := func(cmd *cobra.Command, f *graphs.Fabric) error {
		return e.labUp(cmd, lab.Config{Fabric: f, Name: name, Seed: hashSeed, Convergence: convergence, SNMP: snmp}, output)
	}
	file := &cobra.Command{
		Use: "file F.clab.yml", Short: "the fabric in a file", Args: args(1, 1),
		RunE: func(cmd *cobra.Command, files []string) error {
			f, err := e.readFabric(files[0])
			if err != nil {
				return err
			}
			return build(cmd, f)
		},
	}
	up.AddCommand(append(shapeCmds(build), file)...)
	for _, shape := range up.Commands() {
		flags := shape.Flags()
		flags.StringVar(&name, "name", defaultLab, "the lab's name")
		flags.Uint64Var(&hashSeed, "hash-seed", 1, "decides which of the equal paths each flow takes")
		flags.DurationVar(&convergence, "convergence", lab.DefaultConvergence, "how long after a link went down or up the routes change")
		flags.BoolVar(&snmp, "snmp", false, "an SNMP agent and LLDP on every switch (needs snmpd and lldpd)")
		outputFlag(shape, &output, "text", "json")
	}
	return up
}

func (e *env) labUp(cmd *cobra.Command, cfg lab.Config, output string) error {
	start := time.Now()
	if err := lab.CheckName(cfg.Name); err != nil {
		return usageError{err}
	}
	f, err := lab.WithAddresses(cfg.Fabric)
	if err != nil {
		return err
	}
	if cfg.SNMP {
		if f, err = lab.WithManagement(f); err != nil {
			return err
		}
	}
	cfg.Fabric = f
	room, err := lab.Reserve(cfg)
	if err != nil {
		return labError(err)
	}
	if err := formats.WriteFile(room.FabricFile(), f); err != nil {
		return errors.Join(err, room.Discard())
	}
	keep := []string{"lab", "keep", filepath.Dir(room.FabricFile())}
	if e.verbose {
		keep = append(keep, "--verbose")
	}
	state, err := room.Start(cmd.Context(), keep...)
	if err != nil {
		return labError(err)
	}
	if output == "json" {
		return printJSON(e.stdout, state)
	}
	fmt.Fprintf(e.stdout, "lab %s is up: %d switches, %d hosts, %d links, after %s\n", state.Name, state.Switches, state.Hosts, state.Links,
		time.Since(start).Round(10*time.Millisecond))
	fmt.Fprintf(e.stdout, "fabric file: %s\n", state.FabricFile)
	if len(state.Namespaces) > 0 {
		fmt.Fprintf(e.stdout, "namespaces:  %s and so on, for ip netns exec\n", state.Namespaces[0])
	}
	if state.SNMP {
		fmt.Fprintf(e.stdout, "management:  the node %s; community %s, or of SNMPv3 user %s, SHA-256 %s, AES %s\n", lab.ManagementNode,
			lab.Community, lab.User, lab.AuthPassword, lab.PrivPassword)
		switch {
		case state.LLDP:
		case state.Inside:
			e.say("lldpd does not run without root: the agents know no neighbours")
		default:
			e.say("lldpd is not installed, so the agents know no neighbours: apt-get install --no-install-recommends lldpd")
		}
	}
	if !e.quiet {
		fmt.Fprint(e.stdout, labSteps(state, f))
	}
	return nil
}

// labSteps are commands to try on a new lab.
func labSteps(s *lab.State, f *graphs.Fabric) string {
	var b strings.Builder
	hosts := f.Hosts()
	if len(hosts) > 1 {
		from, to := hosts[0], hosts[len(hosts)-1]
		fmt.Fprintf(&b, "next:\n  whichlink lab exec %s %s -- whichlink trace %s\n", s.Name, f.NodeName(from), f.Address(to, false))
	}
	for a := range graphs.ArcID(f.NumArcs()) {
		if !f.IsHostArc(a) {
			fmt.Fprintf(&b, "  whichlink lab break %s loss '%s' --rate 5%%\n", s.Name, f.ArcName(a))
			break
		}
	}
	if s.SNMP {
		fmt.Fprintf(&b, "  whichlink lab exec %s %s -- env WHICHLINK_SNMP_COMMUNITY=%s whichlink snmp poll --fabric %s\n", s.Name, lab.ManagementNode, lab.Community, s.FabricFile)
	}
	fmt.Fprintf(&b, "  whichlink lab truth %s\n  whichlink lab down %s\n", s.Name, s.Name)
	return b.String()
}

// newLabKeepCmd is what lab up starts; nobody else has a use for it.
func newLabKeepCmd(e *env) *cobra.Command {
	return &cobra.Command{
		Use: "keep DIR", Hidden: true, Args: args(1, 1),
		RunE: func(cmd *cobra.Command, dir []string) error {
			f, err := e.readFabric(filepath.Join(dir[0], "fabric.clab.yml"))
			if err != nil {
				return err
			}
			return lab.Keep(cmd.Context(), dir[0], f, e.logger())
		},
	}
}

// newLabAgentsCmd is what a lab with SNMP starts to run its agents.
func newLabAgentsCmd() *cobra.Command {
	return &cobra.Command{
		Use: lab.AgentsArguments()[1], Hidden: true, Args: args(0, 0),
		RunE: func(*cobra.Command, []string) error { return lab.RunAgents() },
	}
}

// newLabCountersCmd is what an agent starts to count what Linux does not.
func newLabCountersCmd(e *env) *cobra.Command {
	return &cobra.Command{
		Use: lab.CountersArguments()[1], Hidden: true, Args: args(0, 0),
		RunE: func(*cobra.Command, []string) error { return lab.ServeCounters(e.stdin, e.stdout) },
	}
}

func newLabExecCmd(e *env) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "exec NAME NODE -- COMMAND...",
		Short:             "Run a command in a host or switch of a lab",
		Example:           "  whichlink lab exec drill h1-1 -- whichlink agent",
		Args:              args(3, -1),
		ValidArgsFunction: labNames(execNames),
		RunE: func(_ *cobra.Command, a []string) error {
			if a[2] == "--" {
				a = append(a[:2:2], a[3:]...)
			}
			if len(a) < 3 {
				return usagef("which command? usage: whichlink lab exec NAME NODE -- COMMAND...")
			}
			path, err := exec.LookPath(a[2])
			if err == nil {
				path, err = filepath.Abs(path)
			}
			if err != nil {
				return exitError{127, err}
			}
			dir, err := os.Getwd()
			if err != nil {
				return err
			}
			c, err := lab.Dial(a[0])
			if err != nil {
				return labError(err)
			}
			defer c.Close()
			code, err := c.Exec(lab.Command{
				Node: a[1], Path: path, Args: a[2:], Env: os.Environ(), Dir: dir,
				Stdin: os.Stdin.Fd(), Stdout: os.Stdout.Fd(), Stderr: os.Stderr.Fd(),
			})
			switch {
			case err != nil:
				return err
			case code != 0:
				return exitError{code: code}
			}
			return nil
		},
	}
	cmd.Flags().SetInterspersed(false)
	return cmd
}

func nameOr(a []string) string {
	if len(a) == 0 {
		return defaultLab
	}
	return a[0]
}

func newLabListCmd(e *env) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the labs, also what dead ones have left behind",
		Args:  args(0, 0),
		RunE: func(*cobra.Command, []string) error {
			labs, err := lab.List()
			if err != nil {
				return err
			}
			if output == "json" {
				return printJSON(e.stdout, map[string]any{"labs": list(labs)})
			}
			out := bufio.NewWriter(e.stdout)
			for _, s := range labs {
				condition := "up"
				if !s.Alive {
					condition = "dead; whichlink lab down " + s.Name + " removes what is left"
				}
				fmt.Fprintf(out, "%s  %d switches, %d hosts, %d links, since %s, %s\n", graphs.Clean(s.Name), s.Switches, s.Hosts, s.Links,
					s.Created.Format(time.RFC3339), condition)
			}
			return out.Flush()
		},
	}
	outputFlag(cmd, &output, "text", "json")
	return cmd
}

func newLabDownCmd(e *env) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:               "down [NAME | --all]",
		Short:             "Take a lab down, or what a dead one has left behind",
		Args:              args(0, 1),
		ValidArgsFunction: labNames(nil),
		RunE: func(cmd *cobra.Command, a []string) error {
			if !all {
				return labError(lab.Remove(cmd.Context(), nameOr(a)))
			}
			if len(a) > 0 {
				return usagef("give a name or --all, not both")
			}
			labs, err := lab.List()
			for _, s := range labs {
				err = errors.Join(err, lab.Remove(cmd.Context(), s.Name))
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "all labs of this user")
	return cmd
}
