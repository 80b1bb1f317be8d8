package backups

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cluster/archive"
	"github.com/berth-gpu/berth/cluster/backup"
	"github.com/berth-gpu/berth/cluster/raftstore"
	"github.com/berth-gpu/berth/cluster/restore"
	"github.com/berth-gpu/berth/trust"
)

const verifyLong = `Read a whole backup as a restore would, and check it: the hash of each part, the checksum and
digest of the state, every invariant of the state, the pages of the archive, the hashes of the
audit trail, and the signature of the peer that has written it. With a private key or passphrase the sealed keys are opened, and checked to
be those of the cluster. Nothing is changed, and no cluster is needed.

The state is read into memory, and the archive is copied into a temporary folder (TMPDIR).`

// verified is the result of a check.
type verified struct {
	File    string              `json:"file"`
	About   *backup.Description `json:"about"`
	Records uint64              `json:"audit_records"` // that were checked
	Missing uint64              `json:"audit_records_missing,omitempty"`
	Keys    string              `json:"keys"` // "none", "sealed" or "opened"
	Signed  bool                `json:"signed"`

	signer string
}

func newVerify() *cobra.Command {
	k, from, output := &Keys{}, &Origin{}, ""
	cmd := &cobra.Command{
		Use: "verify FILE", Short: "Check a backup, by a restore into memory", Long: verifyLong, Args: cobra.ExactArgs(1),
		Example: "  berth backup verify /mnt/backups/berth-1f3c2a90-20260131T020000Z-90211.berth.tar.zst --identity key.txt",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkOutput(output); err != nil {
				return err
			}
			openers, err := k.Openers(cmd.InOrStdin())
			if err != nil {
				return err
			}
			v, err := verify(cmd.Context(), args[0], openers, from)
			if err != nil {
				return err
			}
			if output == "json" {
				return writeJSON(cmd.OutOrStdout(), v)
			}
			return showVerified(cmd.OutOrStdout(), v)
		},
	}
	k.Bind(cmd)
	from.Bind(cmd)
	cmd.Flags().StringVarP(&output, "output", "o", "", "`format` of the output: json, or left out for text")
	return cmd
}

func verify(ctx context.Context, path string, by []backup.Opener, from *Origin) (v *verified, err error) {
	temp, err := os.MkdirTemp("", "berth-verify-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	b, err := Read(path, temp)
	if err != nil {
		return nil, err
	}
	if err := from.Check(b); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	v = &verified{File: path, About: &b.Description, Keys: "none", Signed: b.Signed, signer: signer(b)}
	if b.Archive != "" {
		verdict, err := archive.Check(ctx, b.Archive, raftstore.VerifyBolt, b.State.Settings().Audit)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s: %w: its archive: %w", path, backup.ErrDamaged, err)
		case verdict.What != "":
			return nil, fmt.Errorf("%s: its audit trail is not as it was written, at record %d: %s: take another backup", path, verdict.Bad, verdict.What)
		}
		v.Records, v.Missing = verdict.Records, verdict.Missing
	}
	if len(b.Description.Keys) > 0 {
		v.Keys = "sealed"
	}
	if len(by) == 0 {
		return v, nil
	}
	secrets, err := b.Open(by...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if _, err := restore.Prepare(b, secrets, &restore.Options{Member: trust.Member{Name: b.Description.Peer}, Now: time.Now()}); err != nil {
		return nil, fmt.Errorf("%s: it cannot be restored: %w", path, err)
	}
	v.Keys = "opened"
	return v, nil
}

// Read reads a backup from a file, with its archive into a folder.
func Read(path, dir string) (*backup.Backup, error) {
	f, err := os.Open(filepath.Clean(path))
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	b, err := backup.Read(f, dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return b, nil
}

func showVerified(w io.Writer, v *verified) error {
	d := v.About
	keys := map[string]string{
		"none":   "It has no keys: a restore needs the folder trust of a former peer.",
		"sealed": "Its keys are sealed and were not looked at: give --identity or --passphrase-file.",
		"opened": "Its keys were opened, and are those of the cluster.",
	}[v.Keys]
	records := fmt.Sprintf("%d records of the audit trail", v.Records)
	if v.Missing > 0 {
		records += fmt.Sprintf(" (%d more were in no archive of that peer)", v.Missing)
	}
	_, err := fmt.Fprintf(w, "%s is whole and keeps every invariant.\ncluster %s, generation %d, made %s by peer %s (%s)\nindex %d, feature level %d, digest %s\n%d jobs, %d nodes with %d GPUs, %s\n%s\n%s\n",
		v.File, d.Cluster, d.Generation, d.Made.Local().Format(time.DateTime), d.Peer, d.Version, d.Index, d.Level, d.Digest, d.Jobs, d.Nodes,
		d.GPUs, records, keys, v.signer)
	return err
}
