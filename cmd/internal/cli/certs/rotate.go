package certs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/wire"
)

const rotateLong = `Replace keys and certificates of the whole cluster while jobs run.

  berth cluster rotate ca        the authority that signs the certificates of all members
  berth cluster rotate leaf      the keys and certificates of all members
  berth cluster rotate           show how far a rotation is

Every member first learns the next key, then all use it, and only then the former one is refused. Each
step waits for all peers and nodes. A rotation goes on without this command; it waits for members that
are down, and names them. A member that does not come back is left out by revoking its certificate
(berth cert revoke); it may join again with a token. Join tokens that were made before the authority was
replaced are void. Logins of users (berth login) follow the new authority by themselves.`

// rotating is the command berth cluster rotate.
type rotating struct {
	connection    cli.Connection
	abort, noWait bool
}

// NewRotate returns the command that replaces keys and certificates.
func NewRotate() *cobra.Command {
	r := &rotating{}
	cmd := &cobra.Command{
		Use: "rotate [ca|leaf]", Short: "Replace the authority, or all certificates", Long: rotateLong,
		Args: cobra.MaximumNArgs(1), ValidArgs: []string{"ca", "leaf"},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && r.abort {
				return cmdline.Usage("--abort ends the rotation that is under way: leave %q out", args[0])
			}
			return r.run(cmd, args)
		},
	}
	r.connection.BindReading(cmd)
	cmd.Flags().BoolVar(&r.abort, "abort", false, "end a rotation whose next key is not in use yet")
	cmd.Flags().BoolVar(&r.noWait, "no-wait", false, "begin the rotation, and do not wait for its end")
	return cmd
}

func (r *rotating) run(cmd *cobra.Command, args []string) error {
	return cli.Reading(&r.connection, func(ctx context.Context, api *client.Client) (*wire.Rotation, error) {
		m := client.MembersOf(api)
		switch {
		case r.abort:
			return m.AbortRotation(ctx)
		case len(args) == 0:
			return m.Rotation(ctx)
		}
		begun, err := m.Rotate(ctx, args[0])
		if err != nil || r.noWait {
			return begun, err
		}
		return wait(ctx, m, begun, cmd.ErrOrStderr())
	}, showRotation)(cmd, nil)
}

// look is the pause between two looks at a rotation.
const look = 200 * time.Millisecond

// wait returns once a rotation has ended, and reports its progress.
func wait(ctx context.Context, m client.Members, now *wire.Rotation, progress io.Writer) (*wire.Rotation, error) {
	said, begun := "", *now
	for now.Rotation != "" || now.Missing > 0 {
		if text := line(now); text != said {
			fmt.Fprintln(progress, text)
			said = text
		}
		select {
		case <-time.After(look):
		case <-ctx.Done():
			return nil, fmt.Errorf("the rotation goes on without this command; berth cluster rotate shows how far it is: %w", ctx.Err())
		}
		next, err := m.Rotation(ctx)
		if p, is := errors.AsType[*wire.Problem](err); is && p.Status < http.StatusInternalServerError && p.Status != http.StatusTooManyRequests {
			return nil, fmt.Errorf("the rotation goes on, and this command cannot follow it any more: %w", err)
		}
		if err == nil { // otherwise a leader may be elected at the moment
			now = next
		}
		if now.Rotation == "" && now.Revision < begun.Revision+toGo(&begun) {
			return nil, errors.New("the rotation was aborted by another command: nothing is replaced")
		}
	}
	return now, nil
}

// toGo returns by how many revisions a rotation goes on until its end: one for each step but that of certificates.
func toGo(v *wire.Rotation) uint64 {
	if v.Rotation == "" || v.Rotation == "leaf" {
		return 0
	}
	return uint64(v.Steps - v.Step + 1)
}

// line describes a rotation that is under way.
func line(v *wire.Rotation) string {
	if v.Rotation == "" {
		return fmt.Sprintf("The rotation is complete at the cluster: %d of %d members have finished; waiting for %s", v.Members-v.Missing, v.Members, names(v))
	}
	what := map[string]string{"ca": "the next authority", "leaf": "another certificate"}[v.Rotation]
	verb := "know"
	if v.Step == 2 || v.Rotation == "leaf" {
		verb = "use"
	}
	text := fmt.Sprintf("Rotation of %s, step %d of %d: %d of %d members %s %s", v.Rotation, v.Step, v.Steps, v.Members-v.Missing, v.Members, verb, what)
	if v.Missing == 0 {
		return text
	}
	return text + "; waiting for " + names(v)
}

// maxNames bounds the members in a line.
const maxNames = 8

func names(v *wire.Rotation) string {
	var list []string
	for _, m := range v.Behind[:min(len(v.Behind), maxNames)] {
		list = append(list, m.Role+" "+m.Name)
	}
	if more := v.Missing - len(list); more > 0 {
		list = append(list, fmt.Sprintf("%d more", more))
	}
	return strings.Join(list, ", ")
}

func showRotation(w io.Writer, v *wire.Rotation) error {
	text := line(v)
	if v.Rotation == "" {
		text = fmt.Sprintf("No rotation is under way. %d of %d members use revision %d of what the cluster trusts", v.Members-v.Missing, v.Members, v.Revision)
		if v.Missing > 0 {
			text += "; not " + names(v)
		}
	}
	_, err := fmt.Fprintln(w, text+".")
	return err
}
