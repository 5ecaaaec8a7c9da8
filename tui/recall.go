package tui

// A recall is what was typed into a prompt before: the newest last, each once in a row.
type recall struct {
	lines []string
	at    int // of the line that is shown; len(lines) is the one that is being typed
}

// mostRecalled bounds a recall.
const mostRecalled = 50

// add remembers a line, and goes to the end.
func (r *recall) add(line string) {
	if n := len(r.lines); line != "" && (n == 0 || r.lines[n-1] != line) {
		if n == mostRecalled {
			r.lines = append(r.lines[:0], r.lines[1:]...)
		}
		r.lines = append(r.lines, line)
	}
	r.at = len(r.lines)
}

// step goes n lines on, or back if n is negative, and returns the line there; past the newest it is empty.
func (r *recall) step(n int) string {
	if r.at = min(max(r.at+n, 0), len(r.lines)); r.at == len(r.lines) {
		return ""
	}
	return r.lines[r.at]
}
