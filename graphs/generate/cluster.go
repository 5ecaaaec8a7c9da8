package generate

import "whichlink/graphs"

// A cluster is switches that stand together: a meta-node, a supernode, a group, a rack. Their names begin with its own.
type cluster struct {
	name     string
	switches []graphs.NodeID
	// digits is a number as wide as those of the switches' names.
	digits int
}

// cluster adds n switches with hosts to come. Largest is the size of the largest cluster of the fabric, so that all names are equally wide.
func (a *assembly) cluster(name string, n, largest int) (cluster, error) {
	c := cluster{name: name, digits: largest}
	for i := range n {
		id, err := a.addSwitch(name+"-sw"+pad(i+1, largest), "tor")
		if err != nil {
			return c, err
		}
		c.switches = append(c.switches, id)
	}
	return c, nil
}

// clusters adds n clusters of the same size, numbered from 1.
func (a *assembly) clusters(prefix string, n, size int) ([]cluster, error) {
	cs := make([]cluster, n)
	for i := range cs {
		var err error
		if cs[i], err = a.cluster(prefix+pad(i+1, n), size, size); err != nil {
			return nil, err
		}
	}
	return cs, nil
}

// hostClusters adds hosts to every switch of some clusters.
func (a *assembly) hostClusters(cs []cluster, hosts int) error {
	for _, c := range cs {
		for i, s := range c.switches {
			if err := a.addHosts(s, c.name+"-"+pad(i+1, c.digits), hosts); err != nil {
				return err
			}
		}
	}
	return nil
}

// bundle is the shared-risk group of the cables that run side by side between two places.
func bundle(from, to string) string { return "bundle-" + from + "-" + to }
