package step

import (
	"strings"

	"github.com/berth-gpu/berth/slurm/jobfile"
	"github.com/berth-gpu/berth/slurm/run/link"
	"github.com/berth-gpu/berth/slurm/srun"
)

// rooms is what the nodes of a job have and what steps hold of it.
type rooms struct {
	rooms   []srun.Room
	uses    []srun.Use
	nodes   []*link.Conn    // to the servers of the other nodes; nil: not connected
	gone    []chan struct{} // closed when the node's connection is lost
	changed chan struct{}   // closed when something gets free, or a node connects
}

func newRooms(f *jobfile.File) rooms {
	n := len(f.Job.Nodes)
	r := rooms{
		rooms: make([]srun.Room, n), uses: make([]srun.Use, n), nodes: make([]*link.Conn, n), gone: make([]chan struct{}, n),
		changed: make(chan struct{}),
	}
	for i, node := range f.Job.Nodes {
		r.rooms[i] = srun.Room{Name: node.Name, Tasks: node.Tasks, Cores: node.Cores, GPUs: len(node.GPUs)}
	}
	return r
}

// wake lets steps that wait try again.
func (r *rooms) wake() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// join notes the connection of a node. An older one is over.
func (r *rooms) join(rank, gpus int, c *link.Conn) {
	if old := r.nodes[rank]; old != nil {
		r.leave(rank, old)
		_ = old.Close()
	}
	r.nodes[rank], r.gone[rank] = c, make(chan struct{})
	r.rooms[rank].GPUs = gpus
	r.wake()
}

// leave notes that a connection is lost, unless there is a newer one.
func (r *rooms) leave(rank int, c *link.Conn) {
	if r.nodes[rank] != c {
		return
	}
	r.nodes[rank] = nil
	close(r.gone[rank])
}

// absent returns the names of other nodes than the first that are not connected.
func (r *rooms) absent() string {
	var names []string
	for i := 1; i < len(r.nodes); i++ {
		if r.nodes[i] == nil {
			names = append(names, r.rooms[i].Name)
		}
	}
	return strings.Join(names, ",")
}

// take holds what a step needs. waits says why the step has to wait; empty: it has its place.
func (r *rooms) take(size srun.Size) (layout srun.Layout, waits string, err error) {
	layout, err = srun.Place(r.rooms, r.uses, size)
	if err == nil {
		for _, s := range layout.Shares {
			if s.Node > 0 && r.nodes[s.Node] == nil {
				return layout, "the server of node " + r.rooms[s.Node].Name + " is not connected", nil
			}
		}
		for _, s := range layout.Shares {
			r.uses[s.Node].Take(s.Hold, true)
		}
		return layout, "", nil
	}
	if err == srun.ErrBusy { //nolint:errorlint // it is never wrapped
		return layout, err.Error(), nil
	}
	if names := r.absent(); names != "" && size.NamesGPUs() {
		return layout, "the server of node " + names + " is not connected", nil // its GPUs are not known yet
	}
	return layout, "", err
}

// release ends what a step holds of a node.
func (r *rooms) release(s srun.Share) {
	r.uses[s.Node].Take(s.Hold, false)
	r.wake()
}
