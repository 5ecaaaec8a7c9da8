package snmp

// A view is what one system hears of another.
type view struct{ from, far int }

// reciprocate finds ports that the one end of a cable cannot name, or names by guess, by what the other end says: if it hears this end at the port
// of which this end says that it hears it, then this end is the port that the other one names.
func (r *resolver) reciprocate() {
	hears := map[view][]*Hearing{}
	for i, s := range r.systems {
		for k := range s.Hears {
			if h := &s.Hears[k]; h.Far >= 0 {
				hears[view{i, h.Far}] = append(hears[view{i, h.Far}], h)
			}
		}
	}
	// Twice: what the first round finds tells more in the second.
	for range 2 {
		for i, s := range r.systems {
			for k := range s.Hears {
				if h := &s.Hears[k]; h.Far >= 0 {
					r.near(h, hears[view{i, h.Far}], hears[view{h.Far, i}])
					r.farPort(h, hears[view{h.Far, i}])
				}
			}
		}
	}
}

// near finds the port of the end that hears. Same are what the end hears of the other, back what the other hears of it.
func (r *resolver) near(h *Hearing, same, back []*Hearing) {
	if h.Port != "" && !h.Step.guessed() {
		return
	}
	var word *Hearing
	several := false
	for _, b := range back {
		switch {
		case b == h || b.FarPort == "" || b.FarStep.guessed() && h.Port != "":
		case h.FarPort != "" && b.Port == h.FarPort:
			several = several || word != nil && word.FarPort != b.FarPort
			word = b
		}
	}
	if word == nil && h.Port == "" {
		word, several = r.leftOver(h, same, back)
	}
	if word != nil && !several && word.FarPort != h.Port {
		h.Port, h.Step = word.FarPort, StepReciprocity
	}
}

// leftOver finds the one thing that the other end hears of this one and that no port of this end accounts for, if this is the only neighbour whose
// port is unknown.
func (r *resolver) leftOver(h *Hearing, same, back []*Hearing) (word *Hearing, several bool) {
	accounted := map[string]bool{}
	for _, x := range same {
		if x != h && x.Port == "" {
			return nil, true
		}
		accounted[x.Port] = true
	}
	for _, b := range back {
		if b == h || b.FarPort == "" || accounted[b.FarPort] || h.FarPort != "" && b.Port != "" && b.Port != h.FarPort {
			continue
		}
		several = several || word != nil
		word = b
	}
	return word, several
}

// farPort finds the port of the end that is heard.
func (r *resolver) farPort(h *Hearing, back []*Hearing) {
	if h.Port == "" || h.FarPort != "" && !h.FarStep.guessed() {
		return
	}
	var word *Hearing
	several := false
	for _, b := range back {
		if b != h && b.Port != "" && b.FarPort == h.Port && !(b.Step.guessed() && h.FarPort != "") {
			several = several || word != nil && word.Port != b.Port
			word = b
		}
	}
	if word != nil && !several && word.Port != h.FarPort {
		h.FarPort, h.FarStep = word.Port, StepReciprocity
	}
}
