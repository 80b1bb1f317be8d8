package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/cmd/internal/config"
	"github.com/berth-gpu/berth/cmd/internal/inspect"
	"github.com/berth-gpu/berth/files/smallfile"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
)

const writeLong = `Write settings into a file. They are read from standard input, as NAME: VALUE lines or as JSON,
so that no other user sees them:

  backup.dir: /var/backups/berth
  backup.recipients: [age1...]
  agent.gpus: null

null removes a setting. Comments and other settings stay. The result is checked as by berth
config validate, and the file stays as it is if there is an error. A file with secrets becomes
readable for root and the account of peers only. berth cluster upgrade restart, or a restart of
the agent, makes the settings count.`

// mostSettings bounds what is read from standard input, in bytes.
const mostSettings = 1 << 20

func newWrite() *cobra.Command {
	return &cobra.Command{
		Use:     "write FILE",
		Short:   "Write settings into a file",
		Long:    writeLong,
		Example: "  echo 'backup.dir: /var/backups/berth' | berth config write /etc/berth/berth.yaml",
		Args:    cli.One("one argument, a file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			given, err := io.ReadAll(io.LimitReader(cmd.InOrStdin(), mostSettings))
			if err != nil {
				return err
			}
			changed, warnings, err := write(cmd.Context(), args[0], given)
			if err != nil {
				fmt.Fprintln(cmd.ErrOrStderr(), strings.TrimRight(err.Error(), "\n"))
				return cmdline.Usage("nothing was changed: these settings cannot be used in %s", args[0])
			}
			for _, line := range warnings {
				fmt.Fprintln(cmd.ErrOrStderr(), line)
			}
			if len(changed) == 0 {
				fmt.Fprintf(cmd.OutOrStdout(), "%s has these settings already.\n", args[0])
				return nil
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s is changed: %s.\n", args[0], strings.Join(changed, ", "))
			return nil
		},
	}
}

// write writes settings into a file, and returns the names of those that changed, and warnings.
func write(ctx context.Context, name string, given []byte) (changed, warnings []string, err error) {
	path := name
	if to, err := filepath.EvalSymlinks(name); err == nil {
		path = to
	}
	old, err := os.ReadFile(path) //nolint:gosec // the file that the administrator names
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	text, changed, err := config.Edit(name, old, given)
	if err != nil || len(changed) == 0 {
		return nil, nil, err
	}
	next := path + ".new"
	_ = os.Remove(next) // the rest of a call that was stopped
	if err := writeNew(next, text); err != nil {
		return nil, nil, err
	}
	defer func() { _ = os.Remove(next) }() // which has another name after a success
	c, wrong := config.Load(config.Source{File: next})
	warnings, fatal := judged(ctx, c, inspect.RoleOfUnit())
	if err := config.InOrder(wrong, fatal); err != nil {
		return nil, nil, errors.New(strings.ReplaceAll(err.Error(), next, name))
	}
	for i, line := range warnings {
		warnings[i] = strings.ReplaceAll(line, next, name)
	}
	if err := errors.Join(giveFile(next, path, c.SecretAt() != ""), os.Rename(next, path),
		smallfile.SyncFolder(filepath.Dir(path))); err != nil {
		return nil, nil, err
	}
	return changed, warnings, nil
}

// writeNew writes a new file, which only its owner can read, and returns after it is on the disk.
func writeNew(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) //nolint:gosec // next to the file that is named
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Sync(), f.Close())
}

// giveFile gives a new file the owner and the mode of the one that it replaces. One that holds secrets and would be open to others
// goes to root and the account of peers.
func giveFile(next, path string, secret bool) error {
	reader, fit := config.OfMember(), false
	owner, group, mode := os.Geteuid(), os.Getegid(), fs.FileMode(0o644) // every account reads settings, as in /etc
	if info, err := os.Stat(path); err == nil {
		mode, fit = info.Mode().Perm(), reader.Private(path, info) == nil
		if st, is := info.Sys().(*syscall.Stat_t); is {
			owner, group = int(st.Uid), int(st.Gid)
		}
	}
	switch {
	case !secret || fit:
	case reader.UID == 0 && reader.GID != 0:
		owner, group, mode = 0, int(reader.GID), 0o640
	default:
		mode = 0o600
	}
	return errors.Join(os.Chown(next, owner, group), os.Chmod(next, mode))
}
