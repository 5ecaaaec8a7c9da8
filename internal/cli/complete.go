package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"whichlink/graphs"
	"whichlink/graphs/formats"
	"whichlink/internal/lab"
)

// A thing is a kind of name that a shell may complete from the fabric.
type thing int

const (
	hosts thing = 1 << iota
	switches
	ports
	arcs
	links
	groups

	nodes = hosts | switches
)

// mostNames is how many names a shell is given. Where there are more, those of ports, arcs and links end behind the node.
const mostNames = 100

// namesOf returns the names of a fabric that begin with what was typed, in the order of the fabric. If they are too many, whole tells that only their
// beginnings are returned.
func namesOf(f *graphs.Fabric, what thing, typed string) (names []string, whole bool) {
	add := func(name string) {
		if strings.HasPrefix(name, typed) {
			names = append(names, name)
		}
	}
	for n := range graphs.NodeID(f.NumNodes()) {
		if host := f.Node(n).IsHost(); host && what&hosts != 0 || !host && what&switches != 0 {
			add(f.NodeName(n))
		}
	}
	if what&groups != 0 {
		for g := range graphs.GroupID(f.NumGroups()) {
			add(f.Group(g).Name)
		}
	}
	plain := len(names)
	if what&ports != 0 {
		for p := range graphs.PortID(f.NumPorts()) {
			add(f.PortName(p))
		}
	}
	for l := range graphs.LinkID(f.NumLinks()) {
		if what&links != 0 {
			add(f.LinkName(l))
		}
		if what&arcs != 0 {
			add(f.ArcName(l.Forward()))
			add(f.ArcName(l.Backward()))
		}
	}
	if len(names) <= mostNames || what&(ports|arcs|links) == 0 || strings.Contains(typed, ":") {
		return names, true
	}
	names = names[:plain]
	for n := range graphs.NodeID(f.NumNodes()) {
		add(f.NodeName(n) + ":")
	}
	return names, false
}

// plainUsages takes the marks out of the usages of flags by which help knows the names of values: a shell shows a usage as it is.
func plainUsages(c *cobra.Command) {
	plain := func(f *pflag.Flag) { f.Usage = strings.ReplaceAll(f.Usage, "`", "") }
	c.Flags().VisitAll(plain)
	c.PersistentFlags().VisitAll(plain)
	for _, sub := range c.Commands() {
		plainUsages(sub)
	}
}

// complete makes candidates of names, without those that were given already.
func complete(f *graphs.Fabric, what thing, typed string, given []string) ([]string, cobra.ShellCompDirective) {
	names, whole := namesOf(f, what, typed)
	taken := map[string]bool{}
	for _, g := range given {
		taken[g] = true
	}
	out := names[:0]
	for _, n := range names {
		if !taken[n] {
			out = append(out, n)
		}
	}
	if !whole {
		return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// fabricNames completes names of the fabric that --fabric names; of the first most arguments. Nothing is said where it cannot be read: a shell would
// print that between what is being typed.
func fabricNames(what thing, most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, given []string, typed string) ([]string, cobra.ShellCompDirective) {
		name, err := cmd.Flags().GetString("fabric")
		if err != nil || name == "" || name == "-" || most >= 0 && len(given) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		file, err := formats.ReadFile(name)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(file.Fabric, what, typed, given)
	}
}

// nameFlag lets a shell complete a flag by names of the fabric.
func nameFlag(cmd *cobra.Command, flag string, what thing) {
	_ = cmd.RegisterFlagCompletionFunc(flag, fabricNames(what, -1))
}

// labNames completes the name of a lab, and behind it what a function knows of that lab.
func labNames(behind func(f *graphs.Fabric, given []string, typed string) ([]string, cobra.ShellCompDirective)) cobra.CompletionFunc {
	return func(_ *cobra.Command, given []string, typed string) ([]string, cobra.ShellCompDirective) {
		labs, err := lab.List()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var names []string
		for _, s := range labs {
			if len(given) == 0 {
				names = append(names, s.Name)
			} else if s.Name == given[0] && behind != nil {
				if file, err := formats.ReadFile(s.FabricFile); err == nil {
					return behind(file.Fabric, given[1:], typed)
				}
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// execNames completes the node of a lab in which to run something.
func execNames(f *graphs.Fabric, given []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(given) > 0 {
		return nil, cobra.ShellCompDirectiveDefault // the command's own arguments
	}
	return complete(f, nodes, typed, nil)
}

// faultNames completes a fault: its kind, and then what that is done to.
func faultNames(f *graphs.Fabric, given []string, typed string) ([]string, cobra.ShellCompDirective) {
	kinds := lab.Kinds()
	if len(given) == 0 {
		var names []string
		for _, k := range kinds {
			names = append(names, cobra.CompletionWithDesc(string(k.Kind), k.Help))
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
	for _, k := range kinds {
		if string(k.Kind) != given[0] {
			continue
		}
		// The usage line names its arguments in capitals: ARC --rate 5%.
		at := 0
		for _, word := range strings.Fields(k.Usage) {
			what, ok := map[string]thing{"ARC": arcs, "LINK": links, "NODE": switches, "SRC": hosts, "DST": hosts}[word]
			if !ok {
				continue
			}
			if at++; at == len(given) {
				return complete(f, what, typed, given[1:])
			}
		}
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}
