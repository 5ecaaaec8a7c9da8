package generate

// A shuffleBox is the inside of a ShuffleBox, which is the same for all boxes. It is fully bipartite: the k-th fibre pair of every
// router-side port (r-port) leads to the k-th box-to-box port (c-port), so that a c-port has one fibre pair of every r-port.
//
// The order of the fibre pairs within a c-port is not published. Here, what a ShuffleBack joins (the first and second fibre pair of a
// c-port, the third and fourth, and so on) are the pairings of a round-robin tournament between the r-ports, another round for every
// c-port, so that no two r-ports are joined twice within a box.
type shuffleBox struct {
	rPorts, cPorts int
	position       [][]int32 // by c-port and r-port: the fibre pair of the c-port
	rPort          [][]int32 // by c-port and its fibre pair: the r-port
}

func newShuffleBox(rPorts, cPorts int) shuffleBox {
	b := shuffleBox{rPorts: rPorts, cPorts: cPorts}
	for c := range cPorts {
		position, rPort := make([]int32, rPorts), make([]int32, 0, rPorts)
		for _, pair := range tournament(rPorts, c) {
			rPort = append(rPort, int32(pair[0]), int32(pair[1]))
		}
		for i, r := range rPort {
			position[r] = int32(i)
		}
		b.position, b.rPort = append(b.position, position), append(b.rPort, rPort)
	}
	return b
}

// tournament returns who meets whom among n in a round of a round-robin tournament, by the circle method. Nobody meets the same other twice
// in n-1 rounds. Where n is odd, one has no opponent, in every of n rounds another.
func tournament(n, round int) [][2]int {
	circle := n - 1 + n%2
	at := func(i int) int { return ((round+i)%circle + circle) % circle }
	var pairs [][2]int
	if n%2 == 0 {
		pairs = append(pairs, [2]int{at(0), n - 1})
	}
	for i := 1; i <= (circle-1)/2; i++ {
		pairs = append(pairs, [2]int{at(i), at(-i)})
	}
	return pairs
}
