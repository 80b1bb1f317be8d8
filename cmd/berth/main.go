// Command berth runs every part of Berth: one program, one subcommand a part.
//
//	main.go     from the command line to an exit code
//	version.go  berth version
//	interrupt.go  how commands end that a signal interrupts
//	strict.go   what no command takes: too many arguments, empty ones, flags that exclude each other
//	server.go   berth server: its flags
//	options.go  what the flags of a server mean, and which of them contradict each other
//	serve.go    a running server: what starts and ends in which order
//	faults.go   why a server cannot start, in one line for the operator
//	web.go      its HTTP side, on the peer by httpapi/plug
//	log.go      a log that never makes the program wait
//	clock.go    the machine's clocks
//	network.go  how every part listens and dials
//	agent.go, gpus.go, supervise.go          what runs on a GPU host
//	supervisor.go                            which program is a rank's supervisor
//	submit.go, run.go, queue.go, show.go ... the commands of users, one file a command or two
//	history.go                               what GPUs measured, drawn
//	quota.go, share.go                       what may be used, and by whom
//	policy.go, orchestrator.go               the order of the queue; whether jobs are started
//	allocate.go                              GPUs for services, without a job
//	snapshot*.go                             state files: written, and read into an empty cluster
//	token.go, user.go, keys.go               who is known; the keys that a server is given
//	events.go, webhook.go, telling.go        what happens, and who is told of it
//	top.go                                   the GPUs, again and again
//	control.go, operate.go, reserve.go       changes of jobs, and an operator's of nodes; reservations
//	config.go, shared.go, reload.go          what can be set, and what the cluster has one value of
//	connect.go, output.go, watch.go          how they reach a cluster, print, and wait
//	dev.go, demo.go, bench.go                whole clusters on one machine
//
// A failure is one line on standard error that says what, where and what to do.
// The exit code is 0 after an orderly end, 1 after a failure, 2 when the command
// line makes no sense, 3 when there is no such thing, 4 when it is not allowed and
// 5 when no peer can be reached. A command that SIGINT or SIGTERM interrupts ends
// without an error message, with exit code 130 or 143.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/terminal"
)

// The exit codes.
const (
	exitFailure     = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitDenied      = 4
	exitUnreachable = 5
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run carries out a command line and returns the exit code. The first SIGINT or
// SIGTERM asks for an orderly end; the next one ends the process at once.
func run(args []string, stdout, stderr io.Writer) int {
	ctx, stop := untilSignal()
	defer stop()
	root := newRoot()
	root.SetArgs(args)
	stdout, stderr = terminal.Wrap(stdout), terminal.Wrap(stderr)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	if code := signaled(ctx); code != 0 {
		if err = withoutCancel(err); err == nil {
			err = code
		}
	}
	if _, silent := errors.AsType[exitError](err); !silent {
		fmt.Fprintf(stderr, "berth: %s\n", oneLine(advise(err)))
	}
	return exitCode(err)
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "berth",
		Short:         "Berth queues jobs, gives them GPUs and runs them",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("there is no command %q; see berth --help", args[0])
			}
			return cmd.Help()
		},
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if text, _, parsed := strings.Cut(err.Error(), ": strconv."); parsed {
			return usage("%s: it must be a number within bounds; see %s --help", text, cmd.CommandPath())
		}
		return usage("%w; see %s --help", err, cmd.CommandPath())
	})
	root.AddGroup(&cobra.Group{ID: groupUse, Title: "Jobs and the cluster:"}, &cobra.Group{ID: groupRun, Title: "Running Berth:"})
	addGroup(root, groupUse, newSubmit(), newRun(), newQueue(), newShow(), newTasks(), newExplain(), newPlan(), newAnalyze(), newLogs(), newCancel(),
		newHold(), newRelease(), newRequeue(), newExtend(), newNodes(), newDrain(), newCordon(), newUndrain(), newNode(), newReserve(),
		newAllocate(), newAllocations(), newRenew(), newPeers(), newWhoami(),
		newHistory(), newUsage(), newAudit(), newTop(), newEvents(), newWebhook())
	addGroup(root, groupRun, newServer(), newAgent(), newDev(), newDemo(), newBench(), newSimulate(), newOrchestrator(), newPolicy(), newConfig(),
		newQuota(), newShare(), newToken(), newUser(), newSnapshot())
	root.AddCommand(newSupervise(), newVersion())
	root.InitDefaultHelpCmd() // now, so that the library's own commands are held to the same
	root.InitDefaultCompletionCmd()
	strictly(root)
	return root
}

// The groups of commands in the help.
const (
	groupUse = "use"
	groupRun = "run"
)

func addGroup(root *cobra.Command, id string, commands ...*cobra.Command) {
	for _, c := range commands {
		c.GroupID = id
		root.AddCommand(c)
	}
}

// usageError says that the command line makes no sense.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usage(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// noArgs refuses arguments that are no flags.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage("%s takes no argument %q; see %s --help", cmd.CommandPath(), args[0], cmd.CommandPath())
	}
	return nil
}

// oneLine is an error's text without line breaks: several errors are set apart.
func oneLine(err error) string {
	text := ""
	for line := range strings.Lines(err.Error()) {
		switch words := strings.Join(strings.Fields(line), " "); {
		case words == "":
		case text == "" || strings.ContainsRune(":;,.", rune(text[len(text)-1])):
			text = strings.TrimSpace(text + " " + words)
		default:
			text += "; " + words
		}
	}
	return text
}
