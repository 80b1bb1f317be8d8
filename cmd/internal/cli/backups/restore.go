package backups

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cluster/backup"
	"github.com/berth-gpu/berth/cluster/restore"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/trust"
)

// Restorer restores a backup for berth init.
type Restorer struct {
	Keys

	file       string
	folder     string // trust of a former peer; empty: the keys are in the backup
	generation uint64
	origin     Origin

	backup  *backup.Backup
	secrets *trust.Secrets
	plan    *restore.Plan
}

// Bind adds the flags.
func (r *Restorer) Bind(cmd *cobra.Command) {
	cmd.Flags().StringVar(&r.file, "from-backup", "", "`file` of a backup to make the cluster of")
	r.Keys.Bind(cmd)
	r.origin.Bind(cmd)
	cmd.Flags().StringVar(&r.folder, "trust", "", "`folder` trust of a former peer, with the keys that a backup without keys lacks")
	cmd.Flags().Uint64Var(&r.generation, "generation", 0, "`number` of the generation of the restored cluster, if the cluster was recovered or restored after the backup (default: the next after that of the backup)")
}

// Asked reports whether there is a backup to be restored.
func (r *Restorer) Asked() bool {
	return r.file != "" || r.folder != "" || r.generation != 0 || r.Given() || r.origin != (Origin{})
}

// Prepare reads and checks the backup and its keys. The archive in it is copied into a folder.
func (r *Restorer) Prepare(in io.Reader, scratch string) error {
	switch {
	case r.file == "":
		return cmdline.Usage("--from-backup is missing: --identity, --passphrase-file, --trust, --generation, --pin and --unsigned are for a backup")
	case r.folder != "" && r.Given():
		return cmdline.Usage("--trust and --identity or --passphrase-file exclude each other: the keys are in one place")
	}
	openers, err := r.Openers(in)
	if err != nil {
		return err
	}
	if r.backup, err = Read(r.file, scratch); err != nil {
		return err
	}
	if err := r.origin.Check(r.backup); err != nil {
		return fmt.Errorf("%s: %w", r.file, err)
	}
	if r.secrets, err = r.openKeys(openers); err != nil {
		return fmt.Errorf("%s: %w", r.file, err)
	}
	// A first try, so that nothing is written for a backup that cannot be restored.
	_, err = restore.Prepare(r.backup, r.secrets, r.options("", trust.Member{Name: "check"}, ""))
	return err
}

// openKeys returns the keys of the cluster.
func (r *Restorer) openKeys(by []backup.Opener) (*trust.Secrets, error) {
	switch {
	case r.folder != "":
		m, err := trust.Load(r.folder)
		if err != nil {
			return nil, err
		}
		next, err := trust.LoadNext(r.folder)
		if err != nil {
			return nil, err
		}
		return m.Secrets().And(next), nil
	case len(r.backup.Description.Keys) == 0:
		return nil, errors.New("the backup has no keys: give --trust with the folder trust of a former peer")
	case len(by) == 0:
		return nil, fmt.Errorf("the keys are sealed for %s: give --identity or --passphrase-file", r.backup.Description.Keys[0])
	}
	return r.backup.Open(by...)
}

func (r *Restorer) options(folder string, first trust.Member, address string) *restore.Options {
	return &restore.Options{
		Data: folder, Member: first, Address: address, Generation: r.generation, Now: time.Now(),
		Log: slog.New(slog.DiscardHandler),
	}
}

// Write makes the content of the data folder, but for its keys and certificates.
func (r *Restorer) Write(folder string, first trust.Member, address string) (*trust.Material, *trust.Secrets, error) {
	if !model.Name(first.Name) {
		return nil, nil, cmdline.Usage("--id %q is no name of a peer", first.Name)
	}
	o := r.options(folder, first, address)
	plan, err := restore.Prepare(r.backup, r.secrets, o)
	if err != nil {
		return nil, nil, err
	}
	if err := plan.Write(o); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", filepath.Dir(folder), err)
	}
	r.plan = plan
	return plan.Trust, plan.Next, nil
}

// About describes what was restored.
func (r *Restorer) About() string {
	d := &r.backup.Description
	return fmt.Sprintf("Cluster %s is restored as of %s (index %d), in generation %d: %d jobs, %d nodes, %d GPUs. What was done since is not in it.\n%s\n",
		d.Cluster, d.Made.Local().Format(time.DateTime), d.Index, r.plan.Trust.Generation, r.plan.State.Jobs.Len(), r.plan.State.Nodes.Len(),
		r.plan.State.GPUs.Len(), signer(r.backup))
}
