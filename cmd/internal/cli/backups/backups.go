package backups

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cluster/backup"
	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
)

const backupLong = `Make, list and check backups of a cluster.

A backup is one file: the state (jobs, queue, users, limits, settings, audit trail), the
archive of ended jobs, and, sealed, the keys of the cluster. Output of jobs is on the nodes
and in no backup. A backup contains users' commands and environments: keep backups as safe as
the cluster, and the private key or passphrase of the seal somewhere else.

berth init --from-backup FILE makes a cluster of a backup. Peers make backups by themselves
with the settings backup.dir, backup.every, backup.keep and backup.recipients.`

// New returns the command.
func New() *cobra.Command {
	cmd := cli.Parent("backup", "Make, list and check backups of the cluster", backupLong, newCreate(), newList(), newVerify())
	cmd.Example = "  berth backup create --recipient age1...\n  berth backup list /var/backups/berth\n  berth backup verify berth-1f3c....berth.tar.zst"
	return cmd
}

// Keys are the flags by which sealed keys are opened.
type Keys struct {
	passphrase string // file
	identity   string // file
}

// Bind adds the flags.
func (k *Keys) Bind(cmd *cobra.Command) {
	cmd.Flags().StringVar(&k.passphrase, "passphrase-file", "", "`file` with the passphrase that the keys in the backup are sealed with; -: standard input")
	cmd.Flags().StringVar(&k.identity, "identity", "", "`file` with the private key of a recipient (of age-keygen) that the keys in the backup are sealed for")
}

// Given reports whether there is anything that opens keys.
func (k *Keys) Given() bool { return k.passphrase != "" || k.identity != "" }

// Openers returns what opens the keys.
func (k *Keys) Openers(in io.Reader) ([]backup.Opener, error) {
	var list []backup.Opener
	if k.identity != "" {
		text, err := readSecret(in, k.identity)
		if err != nil {
			return nil, err
		}
		if list, err = backup.ByIdentities(strings.NewReader(text)); err != nil {
			return nil, fmt.Errorf("%s: %w", k.identity, err)
		}
	}
	if k.passphrase != "" {
		text, err := readPassphrase(in, k.passphrase)
		if err != nil {
			return nil, err
		}
		one, err := backup.ByPassphrase(text)
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, nil
}

// maxSecret bounds a file with a passphrase or with private keys, in bytes.
const maxSecret = 64 << 10

// readSecret reads a small file; "-": standard input.
func readSecret(in io.Reader, path string) (string, error) {
	if path != "-" {
		f, err := os.Open(path) //nolint:gosec // the user names it
		if err != nil {
			return "", err
		}
		defer func() { _ = f.Close() }() // nothing was written
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, maxSecret+1))
	if err == nil && len(text) > maxSecret {
		err = fmt.Errorf("%s has more than %d bytes: name the file with the passphrase or the private key", path, maxSecret)
	}
	return string(text), err
}

// readPassphrase reads the first line of a file, without its end.
func readPassphrase(in io.Reader, path string) (string, error) {
	text, err := readSecret(in, path)
	if err != nil {
		return "", err
	}
	line, rest, _ := strings.Cut(text, "\n")
	if strings.TrimSpace(rest) != "" {
		return "", cmdline.Usage("%s has more than one line: a passphrase is one line", path)
	}
	return strings.TrimSuffix(line, "\r"), nil
}
