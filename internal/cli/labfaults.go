package cli

import (
	"bufio"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"whichlink/graphs"
	"whichlink/internal/lab"
)

func newLabBreakCmd(e *env) *cobra.Command {
	var opts lab.FaultOptions
	var output string
	var kinds strings.Builder
	for _, k := range lab.Kinds() {
		fmt.Fprintf(&kinds, "  %-46s %s\n", string(k.Kind)+" "+k.Usage, k.Help)
	}
	cmd := &cobra.Command{
		Use:   "break NAME FAULT ARGUMENTS",
		Short: "Put a fault into a lab",
		Long: "Put a fault into a lab. An ARC is one direction of a link, 'node:port>node:port' in quotes for the shell; a LINK is\n" +
			"node:port--node:port. The number that is printed heals it. The faults:\n\n" + kinds.String(),
		Example:           "  whichlink lab break drill loss 'leaf1:swp1>spine1:swp1' --rate 5%",
		Args:              args(2, -1),
		ValidArgsFunction: labNames(faultNames),
		RunE: func(_ *cobra.Command, a []string) error {
			c, f, err := e.dialLab(a[0])
			if err != nil {
				return err
			}
			defer c.Close()
			fault, err := lab.ParseFault(f, a[1], a[2:], opts)
			if err != nil {
				return usageError{err}
			}
			id, err := c.Break(fault)
			if err != nil {
				return err
			}
			if output == "json" {
				return printJSON(e.stdout, map[string]any{"id": id, "text": fault.String()})
			}
			_, err = fmt.Fprintf(e.stdout, "%d  %s\n", id, fault)
			return err
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&opts.Rate, "rate", "", "share of packets (5%), bits a second (50Mbit), or ICMP errors a second (20)")
	fl.DurationVar(&opts.Period, "period", 0, "of a flap (default 4s)")
	fl.DurationVar(&opts.Down, "down", 0, "how long a flapping link is down in every period (default 1s)")
	fl.IntVar(&opts.Flows, "flows", 0, "among how many flows a load is spread (default 16)")
	fl.StringVar(&opts.Of, "of", "", "share of the flows (25%) whose packets a loss hits, by addresses and ports; all others pass")
	fl.BoolVar(&opts.Counted, "counted", false, "a loss that the receiving port counts as FCS errors, in a lab with SNMP")
	outputFlag(cmd, &output, "text", "json")
	return cmd
}

// dialLab connects to a lab and reads its fabric.
func (e *env) dialLab(name string) (*lab.Client, *graphs.Fabric, error) {
	if err := lab.CheckName(name); err != nil {
		return nil, nil, usageError{err}
	}
	c, err := lab.Dial(name)
	if err != nil {
		return nil, nil, labError(err)
	}
	s, err := c.State()
	if err != nil {
		return nil, nil, errors.Join(err, c.Close())
	}
	f, err := e.readFabric(s.FabricFile)
	if err != nil {
		return nil, nil, errors.Join(err, c.Close())
	}
	return c, f, nil
}

func newLabHealCmd(e *env) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:               "heal NAME ID... | NAME --all",
		Short:             "Take faults out of a lab, by the numbers that lab truth shows",
		Args:              args(1, -1),
		ValidArgsFunction: labNames(nil),
		RunE: func(_ *cobra.Command, a []string) error {
			if all == (len(a) > 1) {
				return usagef("give the numbers of faults, or --all; whichlink lab truth %s shows them", graphs.Clean(a[0]))
			}
			ids := make([]lab.FaultID, 0, len(a)-1)
			for _, word := range a[1:] {
				id, err := strconv.Atoi(word)
				if err != nil {
					return usagef("%q is not the number of a fault", graphs.Clean(word))
				}
				ids = append(ids, lab.FaultID(id))
			}
			c, err := lab.Dial(a[0])
			if err != nil {
				return labError(err)
			}
			defer c.Close()
			if all {
				return c.HealAll()
			}
			for _, id := range ids {
				if err := c.Heal(id); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "all faults")
	return cmd
}

func newLabTruthCmd(e *env) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:               "truth NAME",
		Short:             "Show what was broken in a lab; no other command looks there",
		Args:              args(0, 1),
		ValidArgsFunction: labNames(nil),
		RunE: func(_ *cobra.Command, a []string) error {
			c, err := lab.Dial(nameOr(a))
			if err != nil {
				return labError(err)
			}
			defer c.Close()
			truth, err := c.Truth()
			if err != nil {
				return err
			}
			if output == "json" {
				return printJSON(e.stdout, map[string]any{"lab": nameOr(a), "faults": list(truth)})
			}
			out := bufio.NewWriter(e.stdout)
			for _, f := range truth {
				fmt.Fprintf(out, "%d  %s  since %s, hit %d packets\n", f.ID, f.Text, f.Since.Format(time.RFC3339Nano), f.Hit)
			}
			if len(truth) == 0 {
				fmt.Fprintln(out, "nothing is broken")
			}
			return out.Flush()
		},
	}
	outputFlag(cmd, &output, "text", "json")
	return cmd
}
