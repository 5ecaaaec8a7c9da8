package cli

// diffJSON is what fabric diff prints as JSON.
type diffJSON struct {
	Plan          string `json:"plan"`
	Observed      string `json:"observed"`
	PlannedLinks  int    `json:"planned_links"`
	ObservedLinks int    `json:"observed_links"`
	Right         int    `json:"right"`
	HalfNamed     int    `json:"half_named,omitempty"`
	// Wrong has an entry for a port; WrongLinks counts planned links.
	Wrong      []diffPort `json:"wrong"`
	WrongLinks int        `json:"wrong_links"`
	Missing    []string   `json:"missing"`
	Unexpected []string   `json:"unexpected"`
	Dark       []string   `json:"dark"`
	Lit        []string   `json:"lit,omitempty"`
	DarkLinks  int        `json:"dark_links"`
	// Replug has a pair for a plug: the link as found, and as it should be. Mends say the same in groups and in words.
	Replug [][2]string `json:"replug"`
	Mends  []diffMend  `json:"mends"`

	Unseen       []diffUnseen `json:"unseen,omitempty"`
	UnseenLinks  int          `json:"unseen_links,omitempty"`
	HostLinks    int          `json:"host_links_unseen,omitempty"`
	Unclear      []string     `json:"unclear,omitempty"`
	UnclearLinks int          `json:"unclear_links,omitempty"`
	Ambiguous    []string     `json:"ambiguous,omitempty"`
	Rules        []diffRule   `json:"rules,omitempty"`
}

type diffPort struct {
	Port    string `json:"port"`
	Planned string `json:"planned"`
	Found   string `json:"found"`
}

type diffMend struct {
	Text  string     `json:"text"`
	Moves []diffMove `json:"moves"`
	// Unplug is a cable to take out, Lay one to lay.
	Unplug string `json:"unplug,omitempty"`
	Lay    string `json:"lay,omitempty"`
	// Harmless groups join the nodes that they should, by ports without addresses.
	Harmless bool `json:"harmless,omitempty"`
}

type diffMove struct {
	From  string `json:"from"`
	To    string `json:"to"`
	Stays string `json:"stays"`
}

type diffUnseen struct {
	Node  string `json:"node"`
	Links int    `json:"links"`
}

type diffRule struct {
	Rule     string   `json:"rule"`
	Says     string   `json:"says"`
	Plan     []string `json:"plan"`
	Observed []string `json:"observed"`
}

func (d *fabricDiff) json() diffJSON {
	out := diffJSON{
		Plan: d.plan.Name(), Observed: d.observed.Name(), PlannedLinks: d.Planned, ObservedLinks: d.Comparison.Observed,
		Right: d.Right, HalfNamed: d.HalfNamed, Wrong: []diffPort{}, WrongLinks: d.WrongLinks,
		Missing: list(d.Missing), Unexpected: list(d.Unexpected), Dark: list(d.Dark), Lit: d.Lit, DarkLinks: d.DarkLinks,
		Replug: [][2]string{}, Mends: []diffMend{}, UnseenLinks: d.UnseenLinks, HostLinks: d.HostLinks,
		Unclear: d.Unclear, UnclearLinks: d.UnclearLinks, Ambiguous: d.Ambiguous,
	}
	for _, x := range d.Wrong {
		out.Wrong = append(out.Wrong, diffPort(x))
	}
	for i := range d.Mends {
		m := &d.Mends[i]
		to := diffMend{Text: m.Text(), Moves: []diffMove{}, Unplug: m.Unplug, Lay: m.Lay, Harmless: m.SameNodes && !m.Addressed}
		for _, x := range m.Moves {
			to.Moves = append(to.Moves, diffMove{x.From, x.To, x.Stays})
			out.Replug = append(out.Replug, [2]string{x.Found, x.Planned})
		}
		out.Mends = append(out.Mends, to)
	}
	for _, u := range d.Unseen {
		out.Unseen = append(out.Unseen, diffUnseen(u))
	}
	for _, r := range d.Rules {
		out.Rules = append(out.Rules, diffRule{r.Name, r.Says, list(r.Plan), list(r.Observed)})
	}
	return out
}
