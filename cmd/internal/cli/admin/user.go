package admin

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/cmd/internal/table"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/wire"
)

func newUser() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "user",
		Short:   "List, set and remove users, their roles and projects",
		Example: "  berth user set alice --role user --join vision\n  berth user list\n  berth user remove alice",
		Args:    cli.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newUserList(), newUserSet(), newUserRemove())
	return cmd
}

func newUserList() *cobra.Command {
	c := &cli.Connection{}
	list := func(ctx context.Context, api *client.Client) (*wire.Users, error) {
		return client.PeopleOf(api).Users(ctx)
	}
	cmd := &cobra.Command{
		Use: "list", Short: "List the users and their roles", Args: cli.NoArgs,
		RunE: cli.Reading(c, list, func(w io.Writer, v *wire.Users) error { return showUsers(w, v.Users) }),
	}
	c.BindReading(cmd)
	return cmd
}

// shownAccount is how much of the hash of an account is shown, in digits.
const shownAccount = 8

func showUsers(w io.Writer, users []wire.User) error {
	t := table.New("USER", "ROLE", "PROJECTS", ">TOKENS", "ACCOUNT")
	for _, u := range users {
		account := u.Account
		if len(account) > shownAccount {
			account = account[:shownAccount]
		}
		t.Add(u.Name, u.Role, strings.Join(u.Projects, ","), strconv.FormatInt(u.Tokens, 10), account)
	}
	_, err := t.WriteTo(w)
	return err
}

func newUserSet() *cobra.Command {
	c, body := &cli.Connection{}, &wire.SetUser{}
	cmd := &cobra.Command{
		Use: "set NAME", Short: "Add a user, or change their role and projects",
		Args: cli.One("one user's name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			set := func(ctx context.Context, api *client.Client) (*wire.User, error) {
				return client.PeopleOf(api).SetUser(ctx, args[0], body)
			}
			return cli.Reading(c, set, func(w io.Writer, v *wire.User) error { return showUsers(w, []wire.User{*v}) })(cmd, nil)
		},
	}
	c.BindReading(cmd)
	to := cmd.Flags()
	to.StringVar(&body.Role, "role", "", "viewer, user, operator or admin")
	to.StringSliceVar(&body.Join, "join", nil, "`project,...` to join")
	to.BoolVar(&body.Provider, "provider", false, "the account that signs in next at the identity provider under this name becomes that of the user")
	to.StringSliceVar(&body.Leave, "leave", nil, "`project,...` to leave")
	return cmd
}

func newUserRemove() *cobra.Command {
	c := &cli.Connection{}
	cmd := &cobra.Command{
		Use: "remove NAME", Short: "Remove a user with their tokens, webhooks and reservations; their jobs stay",
		Args: cli.One("one user's name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			remove := func(ctx context.Context, api *client.Client) (*wire.Gone, error) {
				return client.PeopleOf(api).RemoveUser(ctx, args[0])
			}
			return cli.Reading(c, remove, func(w io.Writer, v *wire.Gone) error {
				_, err := fmt.Fprintln(w, v.Message)
				return err
			})(cmd, nil)
		},
	}
	c.BindReading(cmd)
	return cmd
}

func newWhoami() *cobra.Command {
	c := &cli.Connection{}
	ask := func(ctx context.Context, api *client.Client) (*wire.Whoami, error) {
		return client.PeopleOf(api).Whoami(ctx)
	}
	cmd := &cobra.Command{
		Use: "whoami", Short: "Show the user and the role of your token", Args: cli.NoArgs,
		RunE: cli.Reading(c, ask, func(w io.Writer, v *wire.Whoami) error {
			if !v.Authentication {
				_, err := fmt.Fprintln(w, "Authentication is off: every caller may do everything.")
				return err
			}
			text := v.Actor + ", role " + v.Role
			if !v.ExpiresAt.IsZero() {
				text += ", token expires " + v.ExpiresAt.Local().Format(time.DateTime)
			}
			if len(v.Projects) > 0 {
				text += ", projects: " + strings.Join(v.Projects, ", ")
			}
			_, err := fmt.Fprintln(w, text)
			return err
		}),
	}
	c.BindReading(cmd)
	return cmd
}
