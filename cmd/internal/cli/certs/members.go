package certs

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/cmd/internal/table"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/trust"
)

func newPin() *cobra.Command {
	return &cobra.Command{
		Use: "pin DATAFOLDER", Short: "Print the hash of the authority's key, by which berth login recognizes the cluster", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			m, err := trust.Load(filepath.Join(args[0], trust.Subfolder))
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			pin := trust.PinOf(m.Authorities[0])
			_, err = fmt.Fprintln(cmd.OutOrStdout(), hex.EncodeToString(pin[:]))
			return err
		},
	}
}

func newList() *cobra.Command {
	c := &cli.Connection{}
	list := func(ctx context.Context, api *client.Client) (*wire.Certificates, error) {
		return client.MembersOf(api).Certificates(ctx)
	}
	cmd := &cobra.Command{
		Use: "list", Short: "List the newest certificate of each peer and node", Args: cli.NoArgs,
		RunE: cli.Reading(c, list, func(w io.Writer, v *wire.Certificates) error {
			t := table.New("ROLE", "NAME", "SERIAL", "ISSUED", "EXPIRES", "BY", "STATE")
			for _, k := range v.Certificates {
				t.Add(k.Role, k.Name, k.Serial, day(k.IssuedAt), day(k.ExpiresAt), k.By, stateOf(&k))
			}
			_, err := t.WriteTo(w)
			return err
		}),
	}
	c.BindReading(cmd)
	return cmd
}

func day(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.Local().Format(time.DateTime)
}

func stateOf(k *wire.Certificate) string {
	switch {
	case k.Revoked:
		return "revoked"
	case time.Now().After(k.ExpiresAt):
		return "expired"
	}
	return "valid"
}

func newRevoke() *cobra.Command {
	c, force := &cli.Connection{}, false
	cmd := &cobra.Command{
		Use: "revoke peer|node NAME", Short: "Refuse all certificates that a peer or a node has so far, at once", Args: cobra.ExactArgs(2),
		Long: "Refuse all certificates that a peer or a node has so far, at once. The jobs of a node that is refused\nend with its lease. The machine may join again with a new token for its name.\n\nA peer keeps its vote, so this is refused if the others that are up are no majority; to take a\npeer out of the cluster, use berth peers remove.",
		RunE: func(cmd *cobra.Command, args []string) error {
			revoke := func(ctx context.Context, api *client.Client) (*wire.Gone, error) {
				return client.MembersOf(api).Revoke(ctx, args[0], args[1], force)
			}
			return cli.Reading(c, revoke, func(w io.Writer, v *wire.Gone) error {
				_, err := fmt.Fprintln(w, v.Message)
				return err
			})(cmd, nil)
		},
	}
	c.BindReading(cmd)
	cmd.Flags().BoolVar(&force, "force", false, "also if the cluster stops without that peer, until peers have other certificates")
	return cmd
}
