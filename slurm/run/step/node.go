package step

import (
	"context"
	"encoding/binary"
	"net"
	"strconv"
	"time"

	"github.com/berth-gpu/berth/slurm/jobfile"
	"github.com/berth-gpu/berth/slurm/run/link"
	"github.com/berth-gpu/berth/slurm/run/task"
)

// remote is the server of a node other than the first.
type remote struct {
	file    *jobfile.File
	node    *task.Node
	key     *link.Key
	address string // of the first node's server
}

// The pauses between tries to reach the first node.
const (
	firstPause = 20 * time.Millisecond
	lastPause  = 2 * time.Second
)

// ServeNode runs the tasks of steps on a node other than the first, and serves srun there, until the context ends. What is lost is
// reported by note.
func ServeNode(ctx context.Context, file *jobfile.File, node *task.Node, note func(string)) error {
	key, err := link.NewKey(file.Secret)
	if err != nil {
		return err
	}
	first := file.Ranks[0]
	r := &remote{file: file, node: node, key: key, address: net.JoinHostPort(first.Address, strconv.Itoa(int(first.Port)))}
	local, err := link.ListenLocal(file.Folder, jobfile.Socket)
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { _ = local.Close() })
	go acceptLocal(local, func(c *link.Conn) { r.relay(ctx, c) })
	pause, said := firstPause, false
	for ctx.Err() == nil {
		began := time.Now()
		err := r.attend(ctx)
		if ctx.Err() != nil {
			break
		}
		if time.Since(began) > lastPause {
			pause, said = firstPause, false
		}
		if pause == lastPause && !said {
			said = true
			note("the server of steps at " + r.address + " cannot be reached: " + err.Error())
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
			pause = min(2*pause, lastPause)
		}
	}
	return nil
}

// attend waits for steps, until the connection is lost.
func (r *remote) attend(ctx context.Context) error {
	gpus := len(r.file.Job.Nodes[r.file.Rank].GPUs)
	c, err := r.key.Dial(ctx, r.address, link.Hello{Role: link.RoleNode, Rank: r.file.Rank, GPUs: gpus})
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	defer func() { _ = c.Close() }()
	for {
		f, err := c.Receive()
		if err != nil {
			return err
		}
		if f.Kind == link.KindDial && len(f.Body) == 8 {
			go func() {
				if !r.serve(ctx, binary.BigEndian.Uint64(f.Body)) {
					_ = c.Send(link.KindDial, f.Body) // if that connection is lost, too, the step ends by that
				}
			}()
		}
	}
}

// serve runs the tasks of a step, and reports whether the step got a connection.
func (r *remote) serve(ctx context.Context, session uint64) bool {
	c, err := r.key.Dial(ctx, r.address, link.Hello{Role: link.RoleStep, Rank: r.file.Rank, Session: session})
	if err != nil {
		return false
	}
	defer func() { _ = c.Close() }()
	var launch link.Launch
	if c.Expect(link.KindLaunch, &launch) != nil || launch.Index < 0 || launch.Index >= len(launch.Step.Ranks) ||
		len(launch.Ask.Command) == 0 {
		return false
	}
	r.node.Serve(c, &launch)
	return true
}

// relay connects an srun of this node with the first one.
func (r *remote) relay(ctx context.Context, local *link.Conn) {
	c, err := r.key.Dial(ctx, r.address, link.Hello{Role: link.RoleSrun, Rank: r.file.Rank})
	if err != nil {
		_ = local.Send(link.KindRefused, []byte("the server of steps at "+r.address+" cannot be reached: "+err.Error()))
		_ = local.Close()
		return
	}
	link.Relay(local, c)
}
