package admin

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/cmd/internal/table"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/wire"
)

func newToken() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Create, list and revoke tokens",
		Long: "Create, list and revoke tokens. Admins have those of all users and machines; everybody else has their own:\n" +
			"a new one has no higher role and no later end than the token with which it is asked for.",
		Example: "  berth token create --name laptop --expires 7d\n  berth token create --user alice --role user\n  berth token create --user nightly --role user --expires never\n" +
			"  berth token join node --name gpu1\n  berth token list\n  berth token revoke 3f2a9c0d1e4b5a67",
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newTokenCreate(), newTokenJoin(), newTokenList(), newTokenRevoke())
	return cmd
}

func newTokenCreate() *cobra.Command {
	c := &cli.Connection{}
	body, expires := &wire.MakeToken{}, ""
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Create a token and print it once",
		Args:  cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("expires") {
				var in wire.Lifetime
				if err := in.UnmarshalJSON([]byte(strconv.Quote(expires))); err != nil {
					return cmdline.Usage("--expires must be a time such as 90d or 12h, or never, not %q", expires)
				}
				body.ExpiresIn = &in
			}
			draw := func(ctx context.Context, api *client.Client) (*wire.MadeToken, error) {
				if err := forCaller(ctx, api, body); err != nil {
					return nil, err
				}
				return client.PeopleOf(api).MakeToken(ctx, body)
			}
			errs := cmd.ErrOrStderr()
			return cli.Reading(c, draw, func(w io.Writer, v *wire.MadeToken) error {
				until := wire.Never
				if !v.ExpiresAt.IsZero() {
					until = v.ExpiresAt.Local().Format(time.DateTime)
				}
				fmt.Fprintf(errs, "This is the only time that the token is shown (id %s, role %s, expires: %s):\n", v.ID, v.Role, until)
				_, err := fmt.Fprintln(w, v.Secret)
				return err
			})(cmd, nil)
		},
	}
	c.BindReading(cmd)
	to := cmd.Flags()
	to.StringVar(&body.User, "user", "", "the token's user (default: you); for admins a `NAME` that is not known becomes a user with the role of --role")
	to.StringVar(&body.Role, "role", "", "highest role, viewer, user, operator or admin (default: the user's; your own: that of your token)")
	to.StringVar(&body.Name, "name", "", "`text` that describes it")
	to.StringVar(&expires, "expires", "", "lifetime, a `time` such as 12h or 365d, or never, for accounts of services (default: 90d)")
	return cmd
}

// forCaller completes a request for a token without a user: it is the caller's own.
func forCaller(ctx context.Context, api *client.Client, body *wire.MakeToken) error {
	if body.User != "" {
		return nil
	}
	me, err := client.PeopleOf(api).Whoami(ctx)
	if err != nil {
		return err
	}
	if me.Kind != "user" {
		return cmdline.Usage("--user is missing: give the token's user; the caller (%s) is none", me.Actor)
	}
	body.User = me.Name
	return nil
}

func newTokenList() *cobra.Command {
	c, user := &cli.Connection{}, ""
	list := func(ctx context.Context, api *client.Client) (*wire.Tokens, error) {
		return client.PeopleOf(api).Tokens(ctx, user)
	}
	cmd := &cobra.Command{
		Use: "list", Short: "List your tokens, as an admin all, without their secrets", Args: cli.NoArgs,
		RunE: cli.Reading(c, list, func(w io.Writer, v *wire.Tokens) error {
			t := table.New("ID", "USER", "MACHINE", "ROLE", "NAME", "CREATED", "BY", "EXPIRES")
			for _, k := range v.Tokens {
				until := "never"
				switch {
				case k.Expired:
					until = "expired"
				case !k.ExpiresAt.IsZero():
					until = k.ExpiresAt.Format(time.DateTime)
				}
				id := k.ID
				if k.Current {
					id += " (this)"
				}
				name := k.Name
				if k.Session {
					name = "session of " + k.Parent
				}
				t.Add(id, k.User, k.Node, k.Role, name, k.CreatedAt.Format(time.DateTime), k.CreatedBy, until)
			}
			_, err := t.WriteTo(w)
			return err
		}),
	}
	c.BindReading(cmd)
	cmd.Flags().StringVarP(&user, "user", "u", "", "only tokens of this `user`")
	return cmd
}

func newTokenRevoke() *cobra.Command {
	c := &cli.Connection{}
	cmd := &cobra.Command{
		Use: "revoke ID", Short: "Revoke a token by its id, at once",
		Args: cli.One("the id of one token, as berth token list prints it"),
		RunE: func(cmd *cobra.Command, args []string) error {
			drop := func(ctx context.Context, api *client.Client) (*wire.Gone, error) {
				return client.PeopleOf(api).DropToken(ctx, args[0])
			}
			return cli.Reading(c, drop, func(w io.Writer, v *wire.Gone) error {
				_, err := fmt.Fprintf(w, "token %s: %s\n", args[0], v.Message)
				return err
			})(cmd, nil)
		},
	}
	c.BindReading(cmd)
	return cmd
}

const machineLong = `Create a token by which one machine joins the cluster, as a peer or as a node, and print it.
With --name only a machine of that name may join. A node of this name is replaced: its former
certificates are refused from then on. The name of a peer is never taken by another machine:
there, the token renews the certificate of that peer (berth join peer --renew on its machine).
The certificate of a peer names the host under which the peer joins, and those of --host; a
machine cannot choose names itself. That of a node has none.`

func newTokenJoin() *cobra.Command {
	c := &cli.Connection{}
	body, expires := &wire.MakeToken{}, ""
	cmd := &cobra.Command{
		Use: "join peer|node", Short: "Create a token by which one machine joins the cluster", Long: machineLong, Args: cli.One("peer or node"),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch args[0] {
			case "peer":
				body.Role = "peer"
			case "node":
				body.Role = "agent"
			default:
				return cmdline.Usage("a machine joins as a peer or as a node, not as %q", args[0])
			}
			var in wire.Lifetime
			if err := in.UnmarshalJSON([]byte(strconv.Quote(expires))); err != nil {
				return cmdline.Usage("--expires must be a time such as 30m or 12h, not %q", expires)
			}
			body.ExpiresIn = &in
			draw := func(ctx context.Context, api *client.Client) (*wire.MadeToken, error) {
				return client.PeopleOf(api).MakeToken(ctx, body)
			}
			errs := cmd.ErrOrStderr()
			return cli.Reading(c, draw, func(w io.Writer, v *wire.MadeToken) error {
				fmt.Fprintf(errs, "Token %s lets one machine join as a %s until %s. On that machine: echo TOKEN | berth join %s --address ADDRESS\n",
					v.ID, args[0], v.ExpiresAt.Local().Format(time.DateTime), args[0])
				_, err := fmt.Fprintln(w, v.Secret)
				return err
			})(cmd, nil)
		},
	}
	c.BindReading(cmd)
	to := cmd.Flags()
	to.StringVar(&body.User, "name", "", "`name` of the machine in the cluster (default: any that is not in use)")
	to.StringVar(&body.Network, "network", "", "`network` that the machine must join from, such as 10.1.2.0/24 (default: any)")
	to.StringSliceVar(&body.Hosts, "host", nil, "host `name` or address by which browsers and other programs reach the peer, for its certificate; may repeat")
	to.StringVar(&expires, "expires", "1h", "lifetime, a `time` from 1m to 7d")
	return cmd
}
