// Package certs holds the commands that issue, show and revoke certificates: berth cert. Those of [OnFolders] work on data
// folders and need no running cluster.
package certs

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/trust"
)

// Commands returns the makers of the commands that send requests to a cluster.
func Commands() []cli.Maker {
	return []cli.Maker{{Name: name, New: func() *cobra.Command { return newCert(newList(), newRevoke()) }}}
}

// OnFolders returns the command that reads and writes the data folders of members.
func OnFolders() *cobra.Command { return newCert(newIssue(), newShow(), newAuthority(), newPin()) }

// name is the word before all commands about certificates.
const name = "cert"

// bindMember adds the flags that every new certificate has.
func bindMember(cmd *cobra.Command, m *trust.Member) {
	cmd.Flags().StringSliceVar(&m.Names, "name", nil, "host `name` or address by which browsers and other programs reach the peer; may repeat")
	cmd.Flags().DurationVar(&m.Life, "life", trust.Life, "`time` for which the certificate is valid; it is renewed at half of that, for as long again")
}

// checkLife returns why a certificate cannot be valid for so long.
func checkLife(life time.Duration) error {
	if life < leastLife || life > trust.Life {
		return cmdline.Usage("--life must be from %s to %s, not %s", leastLife, trust.Life, life)
	}
	return nil
}

// leastLife leaves time for some tries to renew.
const leastLife = 10 * time.Second

// above makes the folders above a data folder, which other accounts pass through, as systemd makes them: the data folder
// of a peer may belong to an account of its own.
func above(data string) error {
	return os.MkdirAll(filepath.Dir(filepath.Clean(data)), 0o755) //nolint:gosec // they hold nothing but data folders
}

// unused returns why a folder for keys and certificates is not free.
func unused(dir string) error {
	known, err := trust.Load(dir)
	switch {
	case errors.Is(err, trust.ErrEmpty):
		return nil
	case err != nil:
		return fmt.Errorf("nothing was changed: %w", err)
	}
	i, err := known.Identity()
	if err != nil {
		return err
	}
	return fmt.Errorf("nothing was changed: %s belongs to %s %s of cluster %s already: name another folder, or move this one away", dir, i.Role, i.Name, i.Cluster)
}

func newCert(below ...*cobra.Command) *cobra.Command {
	return cli.Parent(name, "Issue and show certificates of members of the cluster", "", below...)
}

const issueLong = `Issue the certificate of another peer or node, on the machine of a peer. The folder that this
makes holds a new private key: copy it over a safe way to the member's data folder, as its
folder "trust", and remove it here.

  berth cert issue node gpu1 --from /var/lib/berth/server --out gpu1
  scp -r gpu1 root@gpu1:/var/lib/berth/agent/trust`

func newIssue() *cobra.Command {
	var from, to string
	var m trust.Member
	cmd := &cobra.Command{
		Use: "issue peer|node NAME", Short: "Issue the certificate of another member, as a folder to be copied there", Long: issueLong, Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			m.Role, m.Name = trust.Role(args[0]), args[1]
			switch {
			case m.Role != trust.RolePeer && m.Role != trust.RoleNode:
				return cmdline.Usage("there is no role %q: a member is a peer or a node", args[0])
			case m.Role == trust.RoleNode && len(m.Names) > 0:
				return cmdline.Usage("--name is for peers: the certificate of a node has no host names; leave --name out")
			case from == "":
				return cmdline.Usage("--from is missing: give the data folder of a peer")
			case to == "":
				return cmdline.Usage("--out is missing: give a folder that does not exist yet")
			}
			return issue(cmd.OutOrStdout(), from, to, m)
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "data `folder` of a peer, which has the key of the authority")
	cmd.Flags().StringVar(&to, "out", "", "`folder` to make")
	bindMember(cmd, &m)
	return cmd
}

func issue(out io.Writer, from, to string, m trust.Member) error {
	if err := errors.Join(checkLife(m.Life), unused(to)); err != nil {
		return err
	}
	authority, err := trust.Load(filepath.Join(from, trust.Subfolder))
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	made, err := authority.Certify(m, time.Now())
	if err != nil {
		return err
	}
	if err := errors.Join(above(filepath.Dir(to)), trust.Save(to, made)); err != nil {
		return err
	}
	folder := map[trust.Role]string{trust.RolePeer: "peer", trust.RoleNode: "agent"}[m.Role]
	fmt.Fprintf(out, "Issued the certificate of %s %s, valid until %s, in %s.\nCopy this folder over a safe way to the data folder of the %s, as its folder %q, and remove it here.\n",
		m.Role, m.Name, made.Certificate.NotAfter.Local().Format(time.DateTime), to, folder, trust.Subfolder)
	return nil
}

func newShow() *cobra.Command {
	return &cobra.Command{
		Use: "show DATAFOLDER", Short: "Show the certificate in the data folder of a peer or an agent", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			m, err := trust.Load(filepath.Join(args[0], trust.Subfolder))
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			return show(cmd.OutOrStdout(), m)
		},
	}
}

func newAuthority() *cobra.Command {
	return &cobra.Command{
		Use: "authority DATAFOLDER", Short: "Print the certificates of the cluster's authority, by which commands on other machines recognize peers", Args: cobra.ExactArgs(1),
		Example: "  berth cert authority /var/lib/berth/server > berth-authority.pem\n  berth nodes --address 10.0.0.1:10000 --authority berth-authority.pem",
		RunE: func(cmd *cobra.Command, args []string) error {
			m, err := trust.Load(filepath.Join(args[0], trust.Subfolder))
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			_, err = cmd.OutOrStdout().Write(trust.EncodeCertificates(m.Authorities...))
			return err
		},
	}
}

func show(out io.Writer, m *trust.Material) error {
	i, err := m.Identity()
	if err != nil {
		return err
	}
	names := trust.NamesOf(m.Certificate)
	slices.Sort(names)
	row := func(name, value string) { fmt.Fprintf(out, "%-12s %s\n", name, value) }
	row("cluster", i.Cluster)
	row("generation", fmt.Sprint(m.Generation))
	row(string(i.Role), i.Name)
	row("serial", trust.Serial(m.Certificate))
	row("valid until", m.Certificate.NotAfter.Local().Format(time.DateTime)+left(time.Until(m.Certificate.NotAfter)))
	for _, name := range names {
		row("name", name)
	}
	for _, a := range m.Authorities {
		pin := trust.PinOf(a)
		row("authority", hex.EncodeToString(pin[:])+" until "+a.NotAfter.Local().Format(time.DateOnly))
	}
	row("can issue", map[bool]string{true: "yes", false: "no"}[len(m.Keys) > 0])
	return nil
}

func left(d time.Duration) string {
	const day = 24 * time.Hour
	if d < 0 {
		return " (expired)"
	}
	return fmt.Sprintf(" (in %d days)", int(d/day))
}
