// Package task runs the tasks of steps on one node.
package task

import (
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/slurm/jobfile"
	"github.com/berth-gpu/berth/slurm/run/contain"
	"github.com/berth-gpu/berth/slurm/run/process"
)

// Node runs the tasks of all steps on one node of a job.
type Node struct {
	host       process.Starter
	containers *contain.Node
	file       *jobfile.File
	stop       unix.Signal // the stop signal of the job
	own        []string    // variables of the node's own that tasks get: those of Berth, and of the account

	mu    sync.Mutex
	tasks map[*task]bool
	idle  chan struct{} // closed while there are no tasks
}

// NewNode returns the tasks of a node, of which there are none yet; stop is the stop signal of the job.
func NewNode(host process.Starter, containers *contain.Node, file *jobfile.File, stop unix.Signal) *Node {
	n := &Node{host: host, containers: containers, file: file, stop: stop, tasks: map[*task]bool{}, idle: make(chan struct{})}
	close(n.idle)
	for _, pair := range os.Environ() {
		if strings.HasPrefix(pair, "BERTH_") {
			n.own = append(n.own, pair)
		}
	}
	return n
}

// add notes a task that is about to start.
func (n *Node) add(t *task) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.tasks) == 0 {
		n.idle = make(chan struct{})
	}
	n.tasks[t] = true
}

func (n *Node) remove(t *task) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.tasks, t)
	if len(n.tasks) == 0 {
		close(n.idle)
	}
}

// Idle returns a channel that is closed when no task runs, at the time of the call or later.
func (n *Node) Idle() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.idle
}

// Signal sends a signal to all tasks.
func (n *Node) Signal(sig unix.Signal) {
	for _, t := range n.all() {
		t.signal(sig)
	}
}

// Stop sends the stop signal to all tasks that did not get it by srun just before.
func (n *Node) Stop() {
	for _, t := range n.all() {
		t.stop(n.stop, byNode)
	}
}

func (n *Node) all() []*task {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := make([]*task, 0, len(n.tasks))
	for t := range n.tasks { // order-free: each by itself
		list = append(list, t)
	}
	return list
}
