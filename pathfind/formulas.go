package pathfind

import "math"

// The formulas of the RNG paper (section 7 and appendix C) for a random graph of n switches with d links to other switches each.

// SpraypointLevels returns how many levels of waypoints above level 0 a fabric needs: one in all but the very largest.
func SpraypointLevels(n int, d float64, p int) int {
	if p < 2 || d <= 0 {
		return 1
	}
	return max(1, int(math.Ceil(math.Log(float64(n)/(2*d*d))/math.Log(float64(p)))))
}

// SpraypointDisjoint estimates how many paths between two switches have no link in common.
func SpraypointDisjoint(d, p, h int, adjacent bool) float64 {
	fd, fp, fh := float64(d), float64(p), float64(h)
	if adjacent {
		return min(fd-fp, fd*(1-math.Exp(-(1-fp/fd)*fh)))
	}
	return fd * (1 - math.Exp(-fh))
}

// SpraypointLengths estimates the shares of paths by their length in links between switches: the share at index i is of length i.
func SpraypointLengths(n, d, p, levels int) []float64 {
	fn, fd, fp := float64(n), float64(d), float64(p)
	shares := make([]float64, levels+5)
	rest := 1.0
	set := func(i int, share float64) {
		shares[i] = min(share, rest)
		rest -= shares[i]
	}
	set(1, 1/fn)
	for i := 2; i <= levels+2; i++ {
		set(i, math.Pow(fp, float64(i-2))*fd/fn)
	}
	set(levels+4, math.Exp(-math.Pow(fp, float64(levels))*fd*fd/fn))
	shares[levels+3] = rest
	return shares
}

// SpraypointOversubscription estimates the oversubscription of a mesh with one level of waypoints: the demand of all switches, each with
// as much to send as it has links, over what of it the mesh carries when demand is uniform.
func SpraypointOversubscription(n, d, p, h int) float64 {
	fn, fd, fp, fh := float64(n), float64(d), float64(p), float64(h)
	none := math.Exp(-fp * fd * fd / fn) // that a switch has no waypoint for a neighbour
	fit := 1 - math.Pow(4*fd/fn, fh)
	m2 := fd / fn
	phi := min(fp*fd/fn, 1-fd/fn) * (1 - fd/fn) * fit
	kappa := math.Pow(1-phi, 6)/2 + math.Pow(1-phi*phi, 3)/6 + 1.0/3
	m3 := phi * kappa
	m4 := (1 - (fp+1)*fd/fn - none) * (1 - math.Pow(1-(1-2*fd/fn)*fit, fh)) * (1 - m2 - 2*m3) / 4
	m5 := none * (1 - m2 - 2*m3 - 3*m4) / 5
	return 1 / (m2 + m3 + m4 + m5)
}
