package backups

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cluster/backup"
)

// Origin is what an operator knows of where a backup comes from.
type Origin struct {
	pin      string // hash of the authority's key; empty: not known
	unsigned bool   // a backup without a signature is accepted
}

// Bind adds the flags.
func (o *Origin) Bind(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.pin, "pin", "", "`hash` of the key of the cluster's authority (berth cert pin): a backup of another authority is refused")
	cmd.Flags().BoolVar(&o.unsigned, "unsigned", false, "accept a backup without a signature, which any writer of the file may have altered")
}

// Check returns an error unless a backup is signed, by a peer of the cluster that the operator means.
func (o *Origin) Check(b *backup.Backup) error {
	if !b.Signed && !o.unsigned {
		return backup.ErrUnsigned
	}
	pin, err := b.Description.Pin()
	if err != nil {
		return err
	}
	if o.pin != "" && !strings.EqualFold(o.pin, pin) {
		return fmt.Errorf("the backup is of a cluster whose authority has the hash %s, and --pin is %s: take a backup of that cluster", pin, o.pin)
	}
	return nil
}

// signer returns, in words, which peer has signed a backup.
func signer(b *backup.Backup) string {
	pin, err := b.Description.Pin()
	if !b.Signed || err != nil {
		return "It is not signed: nothing shows which peer has written it."
	}
	return fmt.Sprintf("Signed by peer %s, of the authority with the hash %s; compare the hash with that in your logins and notes (berth cert pin).", b.Description.Peer, pin)
}
