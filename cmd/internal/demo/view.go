package demo

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/berth-gpu/berth/cmd/internal/table"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// view shows the progress: on a terminal as a page that is redrawn, else as a line now and then.
type view struct {
	out      io.Writer
	terminal bool
	began    time.Time

	mu     sync.Mutex
	news   []string
	drawn  int       // lines of the page on the terminal
	logged time.Time // of the last line
	done   int64     // jobs that have ended
	all    int       // jobs that there will be
}

// maxRows bounds the running jobs that the page shows, so that it fits.
const maxRows = 12

// tell adds a line of news, which stays on the terminal.
func (v *view) tell(format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	line := fmt.Sprintf("%5.1f s  %s", time.Since(v.began).Seconds(), fmt.Sprintf(format, args...))
	if !v.terminal {
		fmt.Fprintln(v.out, line)
		return
	}
	v.news = append(v.news, line)
}

// draw shows the present state of the cluster.
func (v *view) draw(q *wire.Queue, nodes *wire.Nodes, peers *wire.Peers) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.done = q.Statistics.Completed + q.Statistics.Failed + q.Statistics.Canceled
	if !v.terminal {
		v.line(q, nodes)
		return
	}
	page := v.page(q, nodes, peers)
	v.erase()
	for _, line := range v.news {
		fmt.Fprintln(v.out, line)
	}
	v.news = nil
	fmt.Fprint(v.out, page)
	v.drawn = strings.Count(page, "\n")
}

// erase removes the page from the terminal.
func (v *view) erase() {
	if v.drawn > 0 {
		fmt.Fprintf(v.out, "\x1b[%dA\x1b[J", v.drawn)
		v.drawn = 0
	}
}

// finish leaves the terminal with the news only.
func (v *view) finish() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.erase()
	for _, line := range v.news {
		fmt.Fprintln(v.out, line)
	}
	v.news = nil
}

func (v *view) line(q *wire.Queue, nodes *wire.Nodes) {
	if time.Since(v.logged) < 2*time.Second {
		return
	}
	v.logged = time.Now()
	busy, all := gpusOf(nodes)
	fmt.Fprintf(v.out, "%5.1f s  %2d waiting, %2d running, %2d of %d ended, %2d of %d GPUs in use\n", time.Since(v.began).Seconds(),
		len(q.Queued), len(q.Running), v.done, v.all, busy, all)
}

func gpusOf(nodes *wire.Nodes) (busy, all int64) {
	for i := range nodes.Nodes {
		all += nodes.Nodes[i].GPUCount
		busy += nodes.Nodes[i].GPUCount - nodes.Nodes[i].FreeGPUs
	}
	return busy, all
}

func (v *view) page(q *wire.Queue, nodes *wire.Nodes, peers *wire.Peers) string {
	b := &strings.Builder{}
	fmt.Fprintf(b, "\n  Berth demo   %4.0f s   %d waiting   %d running   %d of %d ended\n\n", time.Since(v.began).Seconds(),
		len(q.Queued), len(q.Running), v.done, v.all)
	for i, p := range peers.Peers {
		state := p.Role
		if !p.Reachable {
			state = "down"
		}
		fmt.Fprintf(b, "%s%s %-10s", map[bool]string{true: "  peers  ", false: "   "}[i == 0], p.Name, state)
	}
	b.WriteString("\n")
	for i := range nodes.Nodes {
		n := &nodes.Nodes[i]
		fmt.Fprintf(b, "  %-7s [%s] %d of %d GPUs in use\n", n.ID, bar(n), n.GPUCount-n.FreeGPUs, n.GPUCount)
	}
	b.WriteString("\n")
	v.jobs(b, q)
	return b.String()
}

// bar formats a node's GPUs in a row: # in use, . free.
func bar(n *wire.Node) string {
	marks := make([]byte, 0, len(n.GPUs))
	for _, g := range n.GPUs {
		mark := byte('#')
		if g.State == "free" {
			mark = '.'
		}
		marks = append(marks, mark)
	}
	return string(marks)
}

func (v *view) jobs(b *strings.Builder, q *wire.Queue) {
	t := table.New("ID", "NAME", "USER", ">PRI", ">GPUS", "STATE", ">ELAPSED", ">ATTEMPT")
	shown := slices.Concat(q.Running, q.Queued)
	for i := range min(maxRows, len(shown)) {
		j := &shown[i]
		t.Add(j.ID, j.Name, j.User, fmt.Sprint(j.Priority), fmt.Sprint(j.GPUs), j.State, table.Seconds(j.RunSeconds), fmt.Sprint(j.Attempts))
	}
	for line := range strings.Lines(t.String()) {
		b.WriteString("  " + line)
	}
	if more := len(shown) - maxRows; more > 0 {
		fmt.Fprintf(b, "  and %d more\n", more)
	}
}
