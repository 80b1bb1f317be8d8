package backups

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cluster/backup"
	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
)

const createLong = `Make a backup of the cluster, as of now, by any of its peers. Needs the role admin.

TO is a file, a folder, or - for standard output; without it the file is made in the present
folder. The keys of the cluster are sealed on this machine: for recipients of age
(age-keygen makes them), or with a passphrase. With --without-keys a restore needs the folder
trust of a former peer in addition.

What was written is complete if the command ends with 0: every part was checked on the way.`

// creation is a backup that is to be made.
type creation struct {
	recipients []string
	passphrase string // file
	bare       bool   // without keys
}

func newCreate() *cobra.Command {
	c, k := &cli.Connection{}, &creation{}
	cmd := &cobra.Command{
		Use: "create [TO]", Short: "Make a backup of the cluster", Long: createLong, Args: cobra.MaximumNArgs(1),
		Example: "  berth backup create --recipient age1... /mnt/backups\n  berth backup create --passphrase-file passphrase - | ssh backup-host 'cat > berth.tar.zst'",
		RunE: func(cmd *cobra.Command, args []string) error {
			seal, err := k.seal(cmd.InOrStdin())
			if err != nil {
				return err
			}
			api, err := c.Dial()
			if err != nil {
				return err
			}
			to := "."
			if len(args) > 0 {
				to = args[0]
			}
			return create(cmd.Context(), api, &seal, to, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	c.Bind(cmd)
	cmd.Flags().StringSliceVar(&k.recipients, "recipient", nil, "`recipient` of age (age1...) that can open the keys in the backup; may repeat")
	cmd.Flags().StringVar(&k.passphrase, "passphrase-file", "", "`file` with the passphrase to seal the keys with; -: standard input")
	cmd.Flags().BoolVar(&k.bare, "without-keys", false, "leave the keys of the cluster out")
	return cmd
}

// seal returns what the keys are sealed to.
func (k *creation) seal(in io.Reader) (backup.Seal, error) {
	given := 0
	for _, one := range []bool{len(k.recipients) > 0, k.passphrase != "", k.bare} {
		if one {
			given++
		}
	}
	if given != 1 {
		return backup.Seal{}, cmdline.Usage("give one of --recipient, --passphrase-file and --without-keys: without the keys of its authority a cluster cannot be restored")
	}
	if k.passphrase == "" {
		seal, err := backup.ForRecipients(k.recipients...)
		if err != nil {
			return seal, cmdline.Usage("--recipient: %w", err)
		}
		return seal, nil
	}
	text, err := readPassphrase(in, k.passphrase)
	if err != nil {
		return backup.Seal{}, err
	}
	seal, err := backup.ForPassphrase(text)
	if err != nil {
		return seal, cmdline.Usage("%s: %w", k.passphrase, err)
	}
	return seal, nil
}

// create makes a backup. The peer seals the keys to a private key of this command, which seals them to what the user has named.
func create(ctx context.Context, api *client.Client, seal *backup.Seal, to string, out, errs io.Writer) (err error) {
	var opener backup.Opener
	recipient := ""
	if !seal.None() {
		if opener, recipient, err = backup.NewIdentity(); err != nil {
			return err
		}
	}
	from, err := client.SnapshotsOf(api).Backup(ctx, recipient)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	if to == "-" {
		d, err := backup.Relay(out, from, opener, seal)
		if err != nil {
			return fmt.Errorf("the backup on standard output is of no use: %w", err)
		}
		tell(errs, "standard output", d)
		return nil
	}
	path, d := to, (*backup.Description)(nil)
	if info, failed := os.Stat(to); failed == nil && info.IsDir() {
		path = "" // the name follows from the backup
	}
	if path == "" {
		path, d, err = intoFolder(to, from, opener, seal)
	} else {
		err = backup.Create(path, func(w io.Writer) (err error) {
			d, err = backup.Relay(w, from, opener, seal)
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("no backup was made: %w", err)
	}
	tell(out, path, d)
	return nil
}

// intoFolder makes a file with the usual name in a folder.
func intoFolder(dir string, from io.Reader, by backup.Opener, seal *backup.Seal) (string, *backup.Description, error) {
	temp, err := os.MkdirTemp(dir, ".berth-backup-")
	if err != nil {
		return "", nil, err
	}
	defer func() { _ = os.RemoveAll(temp) }() // it is empty after a success
	var d *backup.Description
	made := filepath.Join(temp, "backup")
	err = backup.Create(made, func(w io.Writer) (err error) {
		d, err = backup.Relay(w, from, by, seal)
		return err
	})
	if err != nil {
		return "", nil, err
	}
	path := filepath.Join(dir, backup.FileName(d))
	if _, err := os.Lstat(path); err == nil {
		return "", nil, fmt.Errorf("%s exists already", path)
	}
	return path, d, os.Rename(made, path)
}

func tell(w io.Writer, where string, d *backup.Description) {
	keys := "without the keys of the cluster"
	if len(d.Keys) > 0 {
		keys = "with the keys of the cluster, sealed for " + d.Keys[0]
		if more := len(d.Keys) - 1; more > 0 {
			keys += fmt.Sprintf(" and %d more", more)
		}
	}
	fmt.Fprintf(w, "%s: a backup of cluster %s at index %d, %d jobs, %d nodes, %s.\n", where, d.Cluster, d.Index, d.Jobs, d.Nodes, keys)
}
