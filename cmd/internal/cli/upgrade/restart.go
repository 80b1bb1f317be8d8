package upgrade

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/build"
	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/trust"
)

const (
	peerUnit  = "berth-server.service"
	socket    = "/var/lib/berth/server/" + trust.LocalSocket
	patience  = 10 * time.Minute
	look      = 500 * time.Millisecond // between two tries
	unlockFor = 30 * time.Second       // in which the lock is freed, before it is left to end by itself
)

const restartLong = `Restart the peer of this machine, as part of an upgrade: run it as root on each machine after the new
program was installed. Any number of machines may do so at the same time.

The command takes a lock that one peer at a time can have, waits until all other peers with a vote are up
and have caught up, restarts berth-server.service, waits until the peer is up, has caught up and has its
vote again, and frees the lock. A lock whose holder dies ends by itself. Where berth-server.service does
not run, the command does nothing.`

// restarting is the command that restarts the peer of this machine.
type restarting struct {
	socket  string
	command string
	wait    time.Duration

	out  io.Writer
	said string
}

func newRestart() *cobra.Command {
	r := &restarting{}
	cmd := &cobra.Command{
		Use: "restart", Short: "Restart the peer of this machine with the installed program, one peer at a time", Long: restartLong, Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if r.wait < time.Second || r.wait > time.Hour {
				return cmdline.Usage("--wait must be from 1s to 1h, not %s", r.wait)
			}
			r.out = cmd.OutOrStdout()
			return r.run(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&r.socket, "socket", socket, "`path` of the socket of the peer on this machine")
	cmd.Flags().StringVar(&r.command, "command", "", "`command` for sh that restarts the peer, for other service managers (default: systemctl restart "+peerUnit+")")
	cmd.Flags().DurationVar(&r.wait, "wait", patience, "`time` to wait for the lock and for the others, and again for the peer to come back")
	return cmd
}

// say prints a line once.
func (r *restarting) say(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if same := withoutDurations(text); same != r.said {
		r.said = same
		fmt.Fprintln(r.out, text)
	}
}

// withoutDurations returns the words of a text but for durations, such as 9m58s, which change while a user waits: a line for each second
// would fill the log of the program that installs packages. Numbers in names stay: another peer is another cause.
func withoutDurations(text string) string {
	words := strings.Fields(text)
	return strings.Join(slices.DeleteFunc(slices.Clone(words), func(word string) bool {
		word = strings.Trim(word, ".,;:()")
		_, err := time.ParseDuration(word)
		return err == nil && strings.Trim(word, "0123456789.+-") != "" && !strings.Contains(text, "peer "+word)
	}), " ")
}

func (r *restarting) run(ctx context.Context) error {
	if why := r.absent(ctx); why != "" {
		r.say("%s: nothing is to be restarted.", why)
		return nil
	}
	api, err := client.New(client.Options{
		Addresses: []string{"localhost:1"}, Dial: cli.DialSocket(r.socket), UserAgent: "berth/" + build.Version(), Version: build.Version(),
	})
	if err != nil {
		return err
	}
	defer api.Close()
	peers := client.MembersOf(api)
	before, err := r.self(ctx, peers)
	if err != nil {
		return fmt.Errorf("%s is not restarted: %w", peerUnit, explain(err))
	}
	lock := &wire.RestartLock{Peer: before.Name, Key: rand.Text(), Seconds: int(min(2*r.wait, time.Hour) / time.Second)}
	if err := r.lock(ctx, peers, lock); err != nil {
		return fmt.Errorf("peer %s is not restarted: %w", before.Name, explain(err))
	}
	r.say("Peer %s has the lock and is restarted.", before.Name)
	if err := r.restart(ctx); err != nil {
		return errors.Join(err, r.unlock(ctx, peers, lock))
	}
	after, err := r.back(ctx, peers, before)
	if err != nil {
		return fmt.Errorf("peer %s was restarted and is not back: %w; the lock ends by itself, and the other peers are not restarted while this one is down", before.Name, err)
	}
	if err := r.unlock(ctx, peers, lock); err != nil {
		return err
	}
	r.say("Peer %s is back with version %s.", after.Name, after.Version)
	return nil
}

// absent returns why there is no peer to be restarted on this machine; empty: there is one.
func (r *restarting) absent(ctx context.Context) string {
	if r.command == "" && exec.CommandContext(ctx, "systemctl", "is-active", "--quiet", peerUnit).Run() != nil {
		return peerUnit + " does not run here"
	}
	if _, err := os.Stat(r.socket); err != nil && r.command != "" {
		return "no peer has a socket at " + r.socket
	}
	return ""
}

// self returns what the cluster knows of the peer of this machine.
func (r *restarting) self(ctx context.Context, peers client.Members) (*wire.UpgradeState, error) {
	u, err := peers.Upgrade(ctx)
	if err != nil {
		return nil, err
	}
	for i := range u.Members {
		if v := &u.Members[i]; v.Role == "peer" && v.Name == u.AnsweredBy {
			return v, nil
		}
	}
	return nil, fmt.Errorf("peer %s is no member of the cluster", u.AnsweredBy)
}

// explain adds what can be done about peers that do not know the lock.
func explain(err error) error {
	if unknownPath(err) {
		return fmt.Errorf("this peer or the leader runs an older version, without the lock for restarts: run systemctl restart %s on one machine after the other, and wait for berth cluster status between them: %w", peerUnit, err)
	}
	return err
}

// unknownPath reports whether a peer runs an older version that lacks what was asked for.
func unknownPath(err error) bool {
	p, is := errors.AsType[*wire.Problem](err)
	return is && p.Status == http.StatusNotFound && strings.HasPrefix(p.Detail, "there is no such path")
}

// lock takes the lock, as soon as it is free and all others are up.
func (r *restarting) lock(ctx context.Context, peers client.Members, lock *wire.RestartLock) error {
	ctx, cancel := context.WithTimeout(ctx, r.wait)
	defer cancel()
	for {
		_, err := peers.LockRestart(ctx, lock)
		if err == nil {
			return nil
		}
		p, refused := errors.AsType[*wire.Problem](err)
		if refused && p.Status != http.StatusConflict && p.Status != http.StatusServiceUnavailable || errors.Is(err, client.ErrUnreachable) {
			return err
		}
		r.say("Waiting: %v.", err)
		if !pause(ctx) {
			return fmt.Errorf("after %s: %w", r.wait, err)
		}
	}
}

// restart runs the command that restarts the peer.
func (r *restarting) restart(ctx context.Context) error {
	args := []string{"systemctl", "restart", peerUnit}
	if r.command != "" {
		args = []string{"sh", "-c", r.command}
	}
	out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// back waits until another process of the peer is up, has caught up, and has the vote that the former one had.
func (r *restarting) back(ctx context.Context, peers client.Members, before *wire.UpgradeState) (*wire.UpgradeState, error) {
	ctx, cancel := context.WithTimeout(ctx, r.wait)
	defer cancel()
	for {
		after, err := r.self(ctx, peers)
		switch {
		case err != nil:
		case after.StartedAt.Equal(before.StartedAt):
			err = errors.New("the process before still answers")
		case !after.CaughtUp:
			err = errors.New("it has not caught up")
		case before.Voter && !after.Voter:
			err = errors.New("it has no vote")
		default:
			return after, nil
		}
		r.say("Waiting for peer %s.", before.Name)
		if !pause(ctx) {
			return nil, fmt.Errorf("after %s: %w", r.wait, err)
		}
	}
}

// unlock frees the lock, also after an interrupt.
func (r *restarting) unlock(ctx context.Context, peers client.Members, lock *wire.RestartLock) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unlockFor)
	defer cancel()
	for {
		_, err := peers.UnlockRestart(ctx, lock)
		if err == nil {
			return nil
		}
		if !pause(ctx) {
			return fmt.Errorf("the lock for restarts could not be freed, and ends by itself within %ds: %w", lock.Seconds, err)
		}
	}
}

// pause reports whether the context goes on.
func pause(ctx context.Context) bool {
	select {
	case <-time.After(look):
		return true
	case <-ctx.Done():
		return false
	}
}
