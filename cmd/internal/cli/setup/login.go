package setup

import (
	"context"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/build"
	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/cmd/internal/table"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/trust"
)

const loginLong = `Store the addresses of a cluster, the certificate of its authority and your token on this machine,
readable by you only. Commands use the cluster of the last login, or the one that --login or
BERTH_LOGIN names. The token is read from standard input or a file. Where the cluster has an
identity provider (OpenID Connect) you sign in there with --oidc, or at a terminal without a
token: with a browser, on any machine.

The authority is recognized by its hash (--pin), which berth init and berth cert pin print, or
is read from a file (--authority). For a cluster on this machine neither is needed.`

// login is what berth login is told.
type login struct {
	name      string
	addresses []string
	authority string // file
	pin       string
	file      string // of the token; empty: standard input
	list      bool
	noToken   bool
	oidc      bool
}

func newLogin() *cobra.Command {
	l := &login{}
	cmd := &cobra.Command{
		Use: "login [NAME]", Short: "Store how to reach a cluster, and your token", Long: loginLong, Args: cobra.MaximumNArgs(1),
		Example: "  berth login --address 10.0.0.1:10000,10.0.0.2:10000 --pin 1f0c... < token\n  berth login lab --address lab1:10000 --authority lab.pem --token-file token\n" +
			"  berth login lab --address lab1:10000 --pin 1f0c... --oidc\n  berth login lab     use the stored cluster lab from now on\n  berth login --list",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				l.name = args[0]
			}
			return l.run(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	to := cmd.Flags()
	to.StringSliceVar(&l.addresses, "address", nil, "API `address,...` of peers")
	to.StringVar(&l.authority, "authority", "", "`file` with the certificates of the cluster's authority")
	to.StringVar(&l.pin, "pin", "", "`hash` of the authority's key, 64 hexadecimal digits")
	to.StringVar(&l.file, "token-file", "", "`file` that holds your token, readable by you only (default: standard input)")
	to.BoolVar(&l.noToken, "no-token", false, "store no token, for a cluster without authentication")
	to.BoolVar(&l.oidc, "oidc", false, "sign in at the identity provider of the cluster, with a browser")
	to.BoolVar(&l.list, "list", false, "list the stored clusters")
	return cmd
}

func (l *login) run(ctx context.Context, in io.Reader, out, errs io.Writer) error {
	logins, err := cli.UserLogins()
	if err != nil {
		return err
	}
	switch {
	case l.list:
		return listLogins(out, logins)
	case l.oidc && (l.noToken || l.file != ""):
		return cmdline.Usage("--oidc gets a token from the identity provider: leave out --no-token and --token-file")
	case l.oidc && len(l.addresses) == 0 && l.name != "":
		return l.again(ctx, out, errs, logins)
	case len(l.addresses) == 0 && l.name != "":
		if err := logins.Use(l.name); err != nil {
			return cmdline.Usage("%w", err)
		}
		_, err := fmt.Fprintf(out, "Commands use cluster %s from now on.\n", l.name)
		return err
	case len(l.addresses) == 0:
		return cmdline.Usage("--address is missing: give the API addresses of peers")
	}
	v := &cli.Login{Name: l.name, Addresses: l.addresses}
	if v.Name == "" {
		v.Name = "default"
	}
	if err := cli.CheckLoginName(v.Name); err != nil {
		return cmdline.Usage("%w", err)
	}
	for _, address := range l.addresses {
		if err := cli.CheckAddress(address); err != nil {
			return cmdline.Usage("--address: %w", err)
		}
	}
	dial, authority, err := l.dial(v)
	if err != nil {
		return cmdline.Usage("%w", err)
	}
	found := func() string {
		if list := authority(); list != nil {
			return string(trust.EncodeCertificates(list...))
		}
		return ""
	}
	return l.enter(ctx, in, out, errs, logins, v, dial, found)
}

// token reads the user's token.
func (l *login) token(in io.Reader) (string, error) {
	switch {
	case l.noToken:
		return "", nil
	case l.file != "":
		return cli.ReadTokenFile(l.file)
	}
	text, err := io.ReadAll(io.LimitReader(in, 4<<10))
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(text))
	if token == "" || strings.ContainsAny(token, " \n\t") {
		return "", errors.New("standard input does not hold one token and nothing else: pipe your token into this command, name its file with --token-file, or give --no-token")
	}
	return token, nil
}

// again signs in at a stored cluster again.
func (l *login) again(ctx context.Context, out, errs io.Writer, logins *cli.Logins) error {
	v, err := logins.Get(l.name)
	if err != nil {
		return cmdline.Usage("%w", err)
	}
	dial, err := v.Dialer(logins)
	if err != nil {
		return err
	}
	return l.enter(ctx, nil, out, errs, logins, v, dial, func() string { return v.Authority })
}

// enter gets a token, tries it, and stores the login with the authority that was found.
func (l *login) enter(ctx context.Context, in io.Reader, out, errs io.Writer, logins *cli.Logins, v *cli.Login, dial cli.Dial,
	authority func() string,
) error {
	connect := func(token string) (*client.Client, error) {
		c, err := client.New(client.Options{Addresses: v.Addresses, Dial: dial, Token: token, UserAgent: "berth/" + build.Version()})
		if err != nil {
			return nil, cmdline.Usage("--address: %w", err)
		}
		return c, nil
	}
	stranger, err := connect("")
	if err != nil {
		return err
	}
	defer stranger.Close()
	former, _ := logins.Get(v.Name) // of a cluster that is not stored yet there is none
	if v.SignedIn, err = l.offers(ctx, in, stranger); err != nil {
		return fmt.Errorf("nothing was stored: %w", err)
	}
	if v.SignedIn {
		if v.Token, err = signIn(ctx, out, stranger, tokenName()); err != nil {
			return fmt.Errorf("nothing was stored: %w", err)
		}
	} else if v.Token, err = l.token(in); err != nil {
		return cmdline.Usage("%w", err)
	}
	c, err := connect(v.Token)
	if err != nil {
		return err
	}
	defer c.Close()
	caller, err := client.PeopleOf(c).Whoami(ctx)
	if err != nil {
		return fmt.Errorf("nothing was stored: %w", err)
	}
	v.Authority, v.Authenticates = authority(), caller.Authentication
	if err := logins.Save(v); err != nil {
		return err
	}
	if v.SignedIn {
		retire(ctx, errs, c, former, v.Token)
	}
	return report(out, v, caller)
}

// report prints what was stored.
func report(out io.Writer, v *cli.Login, caller *wire.Whoami) error {
	as := "without authentication"
	if caller.Authentication {
		as = fmt.Sprintf("as %s with the role %s", caller.Name, caller.Role)
	}
	if v.SignedIn {
		as += ", until " + caller.ExpiresAt.Local().Format(time.DateTime)
	}
	_, err := fmt.Fprintf(out, "Commands use cluster %s at %s from now on, %s.\n", v.Name, strings.Join(v.Addresses, ","), as)
	return err
}

// dial returns what connects to the cluster, and what returns the authorities that were found.
func (l *login) dial(v *cli.Login) (cli.Dial, func() []*x509.Certificate, error) {
	switch {
	case l.pin != "" && l.authority != "":
		return nil, nil, errors.New("--pin and --authority both say by what the cluster is recognized: give one of them")
	case l.pin != "":
		var pin trust.Pin
		raw, err := hex.DecodeString(strings.TrimSpace(l.pin))
		if err != nil || len(raw) != len(pin) {
			return nil, nil, errors.New("--pin is not a hash of 64 hexadecimal digits: berth cert pin prints that of a cluster")
		}
		copy(pin[:], raw)
		var found []*x509.Certificate
		config := trust.Pinned(pin, time.Now, func(c *x509.Certificate) error { found = []*x509.Certificate{c}; return nil })
		return cli.DialTLS(config), func() []*x509.Certificate { return found }, nil
	case l.authority != "":
		text, err := os.ReadFile(l.authority)
		if err != nil {
			return nil, nil, err
		}
		list, err := trust.DecodeCertificates(text, trust.MaxAuthorities)
		if err != nil {
			return nil, nil, fmt.Errorf("%s does not hold the certificates of an authority: %w", l.authority, err)
		}
		return cli.DialTLS(trust.Visitor(trust.Known{Authorities: list}, time.Now, func(present trust.Known) { list = present.Authorities })),
			func() []*x509.Certificate { return list }, nil
	}
	for _, address := range v.Addresses {
		if !cli.OnLoopback(address) {
			return nil, nil, fmt.Errorf("%s is another machine: give the hash of the cluster's authority with --pin, or its certificate with --authority (berth cert pin and berth cert authority print them on a peer)", address)
		}
	}
	return cli.DialPlain, func() []*x509.Certificate { return nil }, nil
}

func listLogins(out io.Writer, logins *cli.Logins) error {
	names, err := logins.Names()
	if err != nil {
		return err
	}
	t := table.New("NAME", "ADDRESSES", "TOKEN", "CURRENT")
	current := logins.Current()
	for _, name := range names {
		v, err := logins.Get(name)
		if err != nil {
			return err
		}
		t.Add(name, strings.Join(v.Addresses, ","), map[bool]string{true: "stored", false: "none"}[v.Token != ""], map[bool]string{true: "yes"}[name == current])
	}
	_, err = t.WriteTo(out)
	return err
}

func newLogout() *cobra.Command {
	return &cobra.Command{
		Use: "logout NAME", Short: "Forget a stored cluster and its token", Args: cli.One("the name of a stored cluster, as berth login --list prints it"),
		RunE: func(cmd *cobra.Command, args []string) error {
			logins, err := cli.UserLogins()
			if err != nil {
				return err
			}
			if err := logins.Remove(args[0]); err != nil {
				return cmdline.Usage("%w", err)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "Cluster %s is forgotten here. The token is still valid: berth token revoke ends it.\n", args[0])
			return err
		},
	}
}
