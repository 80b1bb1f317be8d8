package watch

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/slurm/cli/host"
	"github.com/berth-gpu/berth/slurm/option"
)

func scontrolOptions() []option.Option {
	return append([]option.Option{
		{Name: "all", Short: 'a'},
		{Name: "details", Short: 'd'},
		{Name: "future", Short: 'F'},
		{Name: "hide"},
		{Name: "oneliner", Short: 'o'},
		{Name: "sibling"},
		{Name: "uid", Short: 'u', Takes: option.TakesValue, Form: "UID"},
		{Name: "h", Short: 'h'},
		{Name: "json"},
		{Name: "yaml"},
	}, common()...)
}

// keyword is a command of scontrol.
type keyword struct {
	name string
	run  func(p *program, line *option.Line, args []string) error
	why  string // of one that is not supported: what to do instead
}

// keywords returns the commands of scontrol. The first that begins with the letters of a shortened word counts.
func keywords() []keyword {
	each := func(change func(*program, string, string) error) func(*program, *option.Line, []string) error {
		return func(p *program, _ *option.Line, args []string) error { return p.each(args, change) }
	}
	return []keyword{
		{name: "show", run: (*program).show},
		{name: "hold", run: each(by(client.Controls.Hold))},
		{name: "holdu", run: each(by(client.Controls.Hold))},
		{name: "uhold", run: each(by(client.Controls.Hold))},
		{name: "release", run: each(by(client.Controls.Release))},
		{name: "requeue", run: each(by(client.Controls.Requeue))},
		{name: "requeuehold", run: each(by(client.Controls.RequeueHeld))},
		{name: "update", run: (*program).update},
		{name: "ping", run: (*program).ping},
		{name: "version", run: func(p *program, _ *option.Line, _ []string) error {
			_, err := fmt.Fprintln(p.out, p.host.Slurm())
			return err
		}},
		{name: "suspend", why: "Berth keeps no stopped processes on a node; scontrol requeue ends the job and returns it to the queue, scontrol hold keeps it there"},
		{name: "resume", why: "Berth suspends jobs only for others, and resumes them by itself; scontrol release lets a held job start"},
		{name: "top", why: "scontrol update JobId=N Priority=N changes the priority"},
		{name: "wait_job", why: "berth submit --wait and berth logs --follow wait for a job"},
		{name: "write", why: "berth show JOB shows what a job runs"},
		{name: "create", why: "berth reserve makes reservations"},
		{name: "delete", why: "berth reserve --help says how reservations are removed"},
		{name: "reboot", why: "Berth starts no nodes; drain the node and restart the machine by its own means"},
		{name: "reconfigure", why: "berth config set changes settings of the cluster at once"},
		{name: "shutdown", why: "stop the service berthd on each machine"},
		{name: "takeover", why: "Berth elects a leader by itself"},
		{name: "listpids", why: "berth show JOB shows the processes' nodes"},
		{name: "pidinfo", why: "berth show JOB shows the processes' nodes"},
		{name: "notify", why: "the standard error of a job is its own"},
		{name: "completing", why: "squeue -t CG lists jobs that are being ended"},
		{name: "token", why: "berth token create makes tokens"},
		{name: "setdebug", why: "berth config set changes settings"},
	}
}

// Scontrol shows details, and changes jobs and nodes.
func Scontrol(h *host.Host, args []string, stdout, stderr io.Writer) int {
	return newProgram(h, "scontrol", stdout, stderr).runScontrol(args)
}

// runScontrol carries out a command line and returns the exit code.
func (p *program) runScontrol(args []string) int {
	return p.carryOut(args, scontrolOptions(), p.scontrol)
}

func (p *program) scontrol(line *option.Line) error {
	if line.Has("h") || len(line.Words) == 1 && line.Words[0] == "help" {
		_, err := io.WriteString(p.out, help("scontrol", scontrolOptions())+"Commands: show hostnames|hostlist|hostlistsorted|job|node|partition|config, hold, release, requeue, requeuehold, update, ping, version\n")
		return err
	}
	if err := without(line, "json", "yaml"); err != nil {
		return err
	}
	if len(line.Words) == 0 {
		return errors.New("there is no interactive mode: give a command, such as scontrol show job 12")
	}
	word := strings.ToLower(line.Words[0])
	for _, k := range keywords() {
		if !strings.HasPrefix(k.name, word) || len(word) < min(len(k.name), 3) {
			continue
		}
		if k.run == nil {
			return fmt.Errorf("%s is not supported: %s", k.name, k.why)
		}
		return k.run(p, line, line.Words[1:])
	}
	return &invalid{"invalid keyword: " + line.Words[0]}
}

// show prints an entity.
func (p *program) show(line *option.Line, args []string) error {
	if len(args) == 0 {
		return &invalid{"too few arguments for keyword:show"}
	}
	entity, rest := strings.ToLower(args[0]), args[1:]
	if name, value, found := strings.Cut(entity, "="); found { // show job=12
		entity, rest = name, append([]string{value}, rest...)
	}
	one := line.Has("oneliner")
	switch {
	case entity == "hostnames" || entity == "hostname" || entity == "hostnamestr":
		return p.hosts("hostnames", rest)
	case entity == "hostlist" || entity == "hostlistsorted":
		return p.hosts(entity, rest)
	case entity == "jobs" || begins("jobid", entity, 1):
		return p.showJobs(rest, one)
	case begins("nodes", entity, 3):
		return p.showNodes(rest, one)
	case begins("partitions", entity, 3):
		return p.showPartitions(rest, one)
	case begins("config", entity, 3):
		return p.showConfig()
	case begins("steps", entity, 3), begins("reservations", entity, 3), begins("licenses", entity, 3), begins("topology", entity, 3), begins("assoc_mgr", entity, 3),
		begins("daemons", entity, 3), begins("federation", entity, 3), begins("aliases", entity, 3), begins("slurmd", entity, 3), begins("burstbuffer", entity, 3):
		return fmt.Errorf("show %s is not supported: show job, node, partition, config, hostnames, hostlist and hostlistsorted are", entity)
	}
	return &invalid{fmt.Sprintf("invalid entity:%s for keyword:show ", args[0])}
}

// begins reports whether a word is a beginning of a name that is long enough.
func begins(name, word string, least int) bool {
	return len(word) >= least && strings.HasPrefix(name, word)
}
