package localize

// How many faults there are is not known beforehand, nor how many of them are switches: both are learnt from the hypothesis. A fabric with many bad arcs has
// more bad switches than others, but not as many times as many; one with several bad switches is likely to have another.

// A census counts the faults of a hypothesis by kindOf. A switch that is bad in part counts as a switch.
type census [len(kinds)]int

// firm is how firmly one believes, before any evidence, in the share of switches among the faults: as if it had been seen of so many of them. Were one sure
// of it, many bad arcs would make switches suspicious as many times as much: four of 32 that chance puts at one switch would be its fault.
const firm = 4

// A censusPrior tells what the log prior of so many faults gains over that of independent ones of which so many are expected. Beside n faults another is (n+2)/3
// times as likely: their number is of a negative binomial distribution of shape 2 in the limit of any mean, so one more fault is the less of a surprise the more there are, and
// evidence alone bounds them. With (n+2)/4, of which the mean would be twice the 3 to bet on, a hundredth fewer are found, and innocents are no nearer to what is expected. The share of
// switches is of a beta distribution: beside n faults, m of them switches, of which there are usually a share of all others, another switch is
// (firm+m/share)/(firm+n) times as likely as it would be if that were sure, and a fault of another kind (firm+n-m)/(firm+n) times.
type censusPrior struct {
	all, others, switches []float64 // by their number
}

// newCensusPrior takes how many components of each kind there are, and how many faults a hypothesis has at most.
func newCensusPrior(number census, most int) *censusPrior {
	others, switches := 0.0, float64(number[2])*(Preference(Node)+partly)
	for i, k := range kinds {
		if i != 2 {
			others += float64(number[i]) * Preference(k)
		}
	}
	p := &censusPrior{make([]float64, most+1), make([]float64, most+1), make([]float64, most+1)}
	for i := range most {
		n := float64(i)
		p.all[i+1] = p.all[i] + log((n+2)/(3*(firm+n)))
		p.others[i+1] = p.others[i] + log(firm+n)
		p.switches[i+1] = p.switches[i] + log(firm+n*others/max(switches, 1))
	}
	return p
}

// gain returns by how much the log prior of a hypothesis is greater than that of independent faults.
func (p *censusPrior) gain(n *census) float64 {
	switches := n[2]
	others := n[0] + n[1] + n[3] + n[4]
	last := len(p.all) - 1
	return p.all[min(switches+others, last)] + p.others[min(others, last)] + p.switches[min(switches, last)]
}

// more returns by how much it is greater with one more fault of a kind, by the number of that.
func (p *censusPrior) more(n *census, kind int) float64 {
	with := *n
	with[kind]++
	return p.gain(&with) - p.gain(n)
}
