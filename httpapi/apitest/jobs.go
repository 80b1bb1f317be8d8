package apitest

import (
	"fmt"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// BenchBody is the body of a usual submission.
const BenchBody = `{"run_id":"experiment-1","user":"username","command":"python train.py --epochs 10","gpu_count":2,"gpu_memory_gb":40,` +
	`"priority":2,"estimated_duration_seconds":3600,"env":{"A":"1","B":"2"}}`

// Fill queues jobs of ten users.
func Fill(s *Site, n int) {
	s.With(func(c *statetest.Cluster) {
		for i := 0; i < n; i += 100 {
			var entry []command.Command
			for j := range min(100, n-i) {
				entry = append(entry, c.Command(statetest.Job(1, func(b *command.Submit) { b.Spec.User = fmt.Sprint("user", j%10) })))
			}
			c.Entry(entry...)
		}
	})
}

// Stocked fills a site with jobs in all kinds of states: 1 and 2 run on n1, 3 on n2, 4 has failed, 5 waits, 6 is held, 7 is an array of
// three.
func Stocked(s *Site) {
	s.With(func(c *statetest.Cluster) {
		c.Node("n1", 2)
		c.Node("n2", 8)
		c.Do(&command.SetNodeLabels{Node: "n1", Changes: "ssd,zone=a"})
		c.Do(&command.SetNodeLabels{Node: "n2", Changes: "zone=b"})
		for i, name := range []string{"train-a", "train-b", "eval", "", "train-c", "big", "sweep"} {
			c.Do(statetest.Job(1, func(b *command.Submit) {
				b.Spec.Name, b.Spec.User, b.Spec.RunID = name, []string{"ann", "bob"}[i%2], fmt.Sprint("run", i/4)
				if i == 6 {
					b.Tasks = 3
				}
				if i == 5 {
					b.Spec.GPUs, b.Spec.Class, b.Spec.Priority, b.Spec.GPUModel = 8, model.ClassHigh, 3, "H100"
				}
			}))
		}
		for job := model.JobID(1); job <= 4; job++ {
			a := c.Place(job)
			c.Start(a)
			if job == 4 {
				c.Exit(a, 3)
			}
		}
		c.Do(&command.Hold{Job: 6, Task: model.AllTasks})
	})
}

// Running makes a cluster with one job that runs on a node at the address.
func Running(s *Site, address string) {
	s.Submit(`{"command":"x"}`).Into(new(wire.Submitted))
	s.With(func(c *statetest.Cluster) {
		n := c.Node("n1", 1)
		n.Register(func(r *command.Register) { r.Address = address })
		c.Start(c.Place(1))
	})
}

// ForecastTook makes the last forecast one that took so long; after a short one another
// may be made at once.
func (s *Site) ForecastTook(d time.Duration) {
	s.API.Places.TookFor(d)
}

// Planted stands in every text that is sealed.
const Planted = "PLANTED"

// Texts is a submission with the planted word in all that is sealed.
const Texts = `{"script":"#!/bin/sh\necho PLANTED","stdin":"UExBTlRFRA==","env":{"A":"PLANTED"},"submit_env":{"B":"PLANTED"},"gpu_count":1}`

// Marker stands in all that a job runs and that may be a secret.
const Marker = "S3CRET"

// Secretive are jobs of ann's, one of them an array, whose commands hold the marker.
func Secretive(project string) func(*statetest.Cluster) {
	return func(c *statetest.Cluster) {
		c.Node("n1", 2)
		set := func(b *command.Submit) {
			b.Spec.User, b.Spec.Project, b.Spec.Name, b.Spec.RunID = "ann", project, "llama", "run-1"
			b.Spec.Command, b.Spec.WorkDir = "train --key "+Marker, "/data/"+Marker
			b.Env, b.Script = []string{"KEY=" + Marker}, "#!/bin/sh\necho "+Marker
		}
		c.Submit(1, set)
		c.Submit(1, func(b *command.Submit) {
			set(b)
			b.Tasks, b.Spec.Sweep, b.Spec.Array = 2, "key="+Marker+",other", "0-1"
		})
	}
}

// ImportName is the id of an import.
const ImportName = "abababababababababababababababababababababababababababababababab"
