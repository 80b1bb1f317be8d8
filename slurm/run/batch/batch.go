// Package batch is the first process of a job in Slurm's language on each of its nodes: on the first node the launcher of the batch
// script, with the server of steps; on the others the server of that node.
package batch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"

	"github.com/berth-gpu/berth/slurm/run/inherit"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/slurm/form"
	"github.com/berth-gpu/berth/slurm/jobfile"
	"github.com/berth-gpu/berth/slurm/run/contain"
	"github.com/berth-gpu/berth/slurm/run/process"
	"github.com/berth-gpu/berth/slurm/run/step"
	"github.com/berth-gpu/berth/slurm/run/task"
)

// Exit codes of a job that could not start, as shells have them.
const (
	failed = 1
)

// rank is the first process of a job on a node.
type rank struct {
	file       *jobfile.File
	host       *process.Host
	node       *task.Node
	containers *contain.Node

	stop, warning unix.Signal // 0: there is no warning
	signals       chan os.Signal
}

// Run does what the file of a rank says, until the end of the job there, and returns the exit code of the process. If a signal ended the
// script, Run ends the process by the same one. The process must have started no other: Run starts the program of this process once more.
func Run(path string) int {
	if path == contain.Word {
		return contain.Serve()
	}
	if path == inherit.Word {
		return limited(os.Args[3:])
	}
	file, err := jobfile.Read(path)
	if err != nil {
		return complain(failed, "the job cannot start: %v", err)
	}
	if os.Getenv(stageVariable) != "" {
		return enter(file)
	}
	r := &rank{file: file, stop: unix.SIGTERM, signals: make(chan os.Signal, 64)}
	if file.Stop != "" {
		r.stop = unix.Signal(form.SignalNumber(file.Stop))
	}
	r.warning = unix.Signal(form.SignalNumber(file.Signal))
	r.notify() // before anything else: a signal that comes early is not lost
	r.host = process.NewHost()
	r.containers = contain.NewNode(r.host, file)
	r.node = task.NewNode(r.host, r.containers, file, r.stop)
	if file.Rank == 0 {
		return r.launch()
	}
	return r.serve()
}

// complain writes a message of Berth into the log of the job.
func complain(code int, format string, args ...any) int {
	fmt.Fprintf(os.Stderr, "berth: "+format+"\n", args...)
	return code
}

// serve runs the tasks of steps on a node other than the first, until the stop signal has come and all have ended.
func (r *rank) serve() int {
	ctx, end := context.WithCancel(context.Background())
	defer end()
	failure := make(chan error, 1)
	go func() {
		failure <- step.ServeNode(ctx, r.file, r.node, func(text string) { complain(0, "%s", text) })
	}()
	var idle <-chan struct{}
	for {
		select {
		case <-idle:
			signal.Stop(r.signals)
			return die(unix.WaitStatus(r.stop))
		case err := <-failure:
			return complain(failed, "the steps of the job have no server on this node: %v", errors.Join(err))
		case s := <-r.signals:
			if number, ok := s.(unix.Signal); ok && r.relay(number, nil) {
				idle = r.node.Idle()
			}
		}
	}
}
