//go:build !linux

package casebook_test

import "whichlink/graphs"

// announce is of the lab, which is Linux's.
func (s *stage) announce(graphs.NodeID, graphs.PortID, string) {
	s.t.Helper()
	s.t.Skip("labs are of Linux")
}
