package setup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// slower is by how much the interval grows when a question came too early (RFC 8628, section 3.5).
const slower = 5 * time.Second

// offers reports whether a user is to sign in at the identity provider of the cluster: if asked for by --oidc, and otherwise if there is
// one, no token is given, and the user is at a terminal.
func (l *login) offers(ctx context.Context, in io.Reader, c *client.Client) (bool, error) {
	file, isFile := in.(*os.File)
	switch {
	case l.oidc:
		return true, nil
	case l.noToken || l.file != "" || !isFile || !term.IsTerminal(int(file.Fd())):
		return false, nil
	}
	p, err := client.PeopleOf(c).Provider(ctx)
	if p, is := errors.AsType[*wire.Problem](err); is && p.Code == wire.CodeNotFound {
		return false, nil
	}
	return err == nil && p.Device != "", err
}

// signIn has the user sign in at the identity provider, in a browser on any machine, and returns a token of the cluster.
func signIn(ctx context.Context, out io.Writer, c *client.Client, name string) (string, error) {
	people := client.PeopleOf(c)
	d, err := people.BeginSignIn(ctx)
	if err != nil {
		return "", err
	}
	if err := instruct(out, d); err != nil {
		return "", err
	}
	if !d.ExpiresAt.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadlineCause(ctx, d.ExpiresAt, errSignInOver)
		defer cancel()
	}
	interval := time.Duration(max(d.Interval, 1)) * time.Second
	for {
		select {
		case <-time.After(interval):
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
		made, err := people.SignIn(ctx, &wire.ProviderSignIn{Device: d.Code, Name: name})
		switch {
		case err != nil && ctx.Err() != nil:
			return "", context.Cause(ctx)
		case err != nil && !passing(err):
			return "", err
		case err != nil:
		case made.Slower:
			interval += slower
		case !made.Pending:
			return made.Secret, nil
		}
	}
}

// errSignInOver is the error of a sign-in that takes too long.
var errSignInOver = errors.New("the code has expired before you have signed in: run the command again")

// passing reports whether another question may be answered.
func passing(err error) bool {
	p, is := errors.AsType[*wire.Problem](err)
	return is && (p.Code == wire.CodeOverloaded || p.Code == wire.CodeRateLimited || p.Code == wire.CodeNoLeader)
}

// instruct prints where the user signs in.
func instruct(out io.Writer, d *wire.Device) error {
	at := d.Address
	if d.Complete != "" {
		at = d.Complete
	}
	for _, text := range []string{at, d.UserCode} { // what the provider has written goes to a terminal
		if !model.Text(text, model.MaxURL) {
			return errors.New("the identity provider has answered with an address or a code that cannot be shown")
		}
	}
	_, err := fmt.Fprintf(out, "Sign in with a browser, on this machine or another one:\n\n  %s\n\nThe code there must be %s.", at, d.UserCode)
	if err == nil && !d.ExpiresAt.IsZero() {
		_, err = fmt.Fprintf(out, " It is good for %s.", time.Until(d.ExpiresAt).Round(time.Minute))
	}
	if err == nil {
		_, err = fmt.Fprintln(out)
	}
	return err
}

// tokenName returns the name of the token of this machine.
func tokenName() string {
	host, err := os.Hostname()
	if name := "oidc " + host; err == nil && model.Text(name, model.MaxName) {
		return name
	}
	return "oidc"
}

// retire revokes the token that a former sign-in has stored under the same name. One that is not valid any more, or of another cluster, is
// left alone.
func retire(ctx context.Context, errs io.Writer, c *client.Client, former *cli.Login, present string) {
	if former == nil || !former.SignedIn || former.Token == "" || former.Token == present {
		return
	}
	_, err := client.PeopleOf(c).DropToken(ctx, auth.ID(auth.HashOf(former.Token)))
	if p, is := errors.AsType[*wire.Problem](err); err != nil && (!is || p.Code != wire.CodeNotFound) {
		fmt.Fprintf(errs, "berth: warning: the token of the former sign-in was not revoked: %s\n", strings.TrimSpace(err.Error()))
	}
}
