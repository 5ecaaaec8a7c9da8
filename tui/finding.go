package tui

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"whichlink/graphs"
	"whichlink/internal/diagnose"
	"whichlink/internal/evidence"
)

// A PacketReader fetches what lies behind the findings of captures.
type PacketReader interface {
	// Packets reads the packets of a finding from its capture: the first of them, as many as a list can show. It is called outside the drawing
	// goroutine, and stops when ctx ends.
	Packets(ctx context.Context, finding *evidence.Record) (*Packets, error)
	// Viewer returns a program that shows the packets on the terminal, or says why there is none. It must answer at once.
	Viewer(finding *evidence.Record) (*Viewer, error)
}

// Packets are what lies behind a finding.
type Packets struct {
	Lines []Packet
	// Total is how many there are, also those that were not taken down.
	Total int64
}

// A Packet is one row of a list of packets.
type Packet struct {
	Number   int64 // in its file, from 1
	File     string
	Time     time.Time
	Src, Dst string
	Proto    string
	Len      int
	Info     string
}

// A Viewer is a program that shows packets: its words, and how to run it.
type Viewer struct {
	Words []string
	Show  tea.ExecCommand
}

// severities are those of findings, the worst first.
var severities = []string{"critical", "warning", "info"}

// severityRank orders findings; a word that is not known comes last.
func severityRank(word string) int {
	if i := slices.Index(severities, word); i >= 0 {
		return i
	}
	return len(severities)
}

func severityStyle(word string) style {
	switch severityRank(word) {
	case 0:
		return bad
	case 1:
		return warn
	}
	return plain
}

// worstFirst orders findings.
func worstFirst(a, b *evidence.Record) int {
	return cmp.Or(cmp.Compare(severityRank(a.Severity), severityRank(b.Severity)), cmp.Compare(timesOf(b), timesOf(a)),
		cmp.Compare(a.Finding, b.Finding), cmp.Compare(a.Subject, b.Subject), a.Time.Compare(b.Time))
}

// timesOf says how often what a finding tells happened.
func timesOf(r *evidence.Record) int {
	if r.Count == nil {
		return 1
	}
	return *r.Count
}

// endsOf reads the two addresses of a finding's subject, such as "tcp 10.0.0.1:1000>10.0.0.2:2000". Subjects of other kinds have none.
func endsOf(subject string) (src, dst netip.Addr, ok bool) {
	for word := range strings.FieldsSeq(subject) {
		a, b, two := strings.Cut(word, ">")
		if !two {
			continue
		}
		if src, ok = addressOf(a); !ok {
			return src, dst, false
		}
		dst, ok = addressOf(b)
		return src, dst, ok
	}
	return src, dst, false
}

func addressOf(text string) (netip.Addr, bool) {
	if a, err := netip.ParseAddr(text); err == nil {
		return a, true
	}
	a, err := netip.ParseAddrPort(text)
	return a.Addr(), err == nil
}

// A crossed is the share of a finding's flows that cross an arc, by what the model says of their two ends.
type crossed struct {
	arc   graphs.ArcID
	share float64
}

// certainly is the share from which on every flow of a pair crosses an arc.
const certainly = 1 - 1e-9

// waysOf returns the arcs that the flow of a finding may cross, nil where the fabric does not know its ends.
func waysOf(p *diagnose.Picture, r *evidence.Record) []crossed {
	if p == nil || p.Model == nil {
		return nil
	}
	src, dst, ok := endsOf(r.Subject)
	if !ok {
		return nil
	}
	a, ok1 := p.Fabric.Owner(src)
	b, ok2 := p.Fabric.Owner(dst)
	if !ok1 || !ok2 || a.Node == b.Node {
		return nil
	}
	var out []crossed
	for _, s := range p.Model.Ways(a.Node, b.Node).Shares() {
		out = append(out, crossed{s.Arc, s.Share})
	}
	return out
}

// mostMarked bounds how many findings, the worst of them, are put on links: to find the ways of a pair takes up to milliseconds.
const mostMarked = 300

// Findings are what captures prove, and what that means for links. They never change; what they mean is worked out when it is first asked for.
type Findings struct {
	worst []*evidence.Record // the worst first

	once sync.Once // guards the making of all below
	ways map[*evidence.Record][]crossed
	// certain counts, by link, the findings whose flow crosses it whatever its path is.
	certain map[graphs.LinkID]int
}

// NewFindings takes records of findings over; they must not change any more.
func NewFindings(records []*evidence.Record) *Findings {
	f := &Findings{worst: slices.Clone(records)}
	slices.SortStableFunc(f.worst, worstFirst)
	return f
}

// all returns the findings, the worst first.
func (f *Findings) all() []*evidence.Record {
	if f == nil {
		return nil
	}
	return f.worst
}

// Place works out which links the worst findings are about, by the model of a picture. On large fabrics that takes a second: whoever makes snapshots calls
// it, so that no screen has to.
func (f *Findings) Place(p *diagnose.Picture) {
	if f == nil || p == nil {
		return
	}
	f.once.Do(func() {
		f.ways, f.certain = map[*evidence.Record][]crossed{}, map[graphs.LinkID]int{}
		for _, r := range f.worst[:min(len(f.worst), mostMarked)] {
			ways := waysOf(p, r)
			f.ways[r] = ways
			marked := map[graphs.LinkID]bool{}
			for _, x := range ways {
				if l := x.arc.Link(); x.share >= certainly && !marked[l] {
					marked[l] = true
					f.certain[l]++
				}
			}
		}
	})
}

// surely returns how many findings are of flows that cross a link whatever their paths are.
func (f *Findings) surely(p *diagnose.Picture, l graphs.LinkID) int {
	f.Place(p)
	if f == nil {
		return 0
	}
	return f.certain[l]
}

// on returns the findings whose flow may cross a link, with the share of flows of its ends that do, the surest first.
func (f *Findings) on(p *diagnose.Picture, l graphs.LinkID) (found []*evidence.Record, shares []float64) {
	f.Place(p)
	type marked struct {
		r     *evidence.Record
		share float64
	}
	var all []marked
	for _, r := range f.all()[:min(len(f.all()), mostMarked)] {
		share := 0.0
		for _, x := range f.ways[r] {
			if x.arc.Link() == l {
				share = max(share, min(x.share, 1))
			}
		}
		if share > 0 {
			all = append(all, marked{r, share})
		}
	}
	slices.SortStableFunc(all, func(a, b marked) int { return cmp.Compare(b.share, a.share) })
	for _, m := range all {
		found, shares = append(found, m.r), append(shares, m.share)
	}
	return found, shares
}

// whereWords says where in the fabric the flow of a finding goes.
func whereWords(s *Snapshot, ways []crossed) string {
	if s.Picture == nil {
		return "no fabric is known"
	}
	if len(ways) == 0 {
		return "the fabric does not know both of its ends"
	}
	var sure []string
	links := map[graphs.LinkID]bool{}
	for _, x := range ways {
		links[x.arc.Link()] = true
		if x.share >= certainly {
			sure = append(sure, s.Picture.Fabric.ArcName(x.arc))
		}
	}
	text := "may cross " + counted(len(links), "link", "links")
	if len(sure) > 0 {
		text += "; for certain " + strings.Join(sure, " and ")
	}
	return text
}

// span returns when what a finding tells began and ended.
func spanOf(r *evidence.Record) (from, to time.Time) { return r.Start(), r.Time }

// whenWords writes the time of a finding.
func whenWords(r *evidence.Record, s *Snapshot) string {
	const day = "2006-01-02 "
	from, to := spanOf(r)
	if !from.Before(to) {
		return s.at(to, day+milliseconds)
	}
	return fmt.Sprintf("%s to %s, %s", s.at(from, day+milliseconds), s.at(to, milliseconds), to.Sub(from).Round(time.Millisecond))
}

// tsharkCommand is what one types to see the packets of a finding.
func tsharkCommand(r *evidence.Record) string {
	words := []string{"tshark", "-r", r.By}
	if r.Filter != "" {
		words = append(words, "-Y", r.Filter)
	}
	return typedWords(words)
}

// typedWords are the words of a command as one types them.
func typedWords(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = quoted(w)
	}
	return strings.Join(out, " ")
}

// quoted makes one word of a shell out of any text. What does not print is not kept: it would be typed when it is pasted.
func quoted(text string) string {
	text = clean(text)
	if text != "" && strings.IndexFunc(text, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("./_-+:,=@", r))
	}) < 0 {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
