package setup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/trust"
)

// Where the packages of Berth keep things.
const (
	defaultConfig      = "/etc/berth/berth.yaml"
	peerFolder         = "/var/lib/berth/server"
	nodeFolder         = "/var/lib/berth/agent"
	peerUnit      unit = "berth-server.service"
	nodeUnit      unit = "berth-agent.service"
)

// machine is what init and join are told about this machine.
type machine struct {
	name      string
	data      string
	config    string
	advertise string
	noConfig  bool
	keepStill bool
}

func (m *machine) bind(cmd *cobra.Command, data string) {
	host, _ := os.Hostname() // "" leaves the flag to be given
	cmd.Flags().StringVar(&m.name, "id", host, "`name` of this machine in the cluster, which never changes")
	cmd.Flags().StringVar(&m.data, "data-dir", data, "`folder` for the state of this machine")
	cmd.Flags().StringVar(&m.config, "config", defaultConfig, "`file` of settings, which is written, or added to")
	cmd.Flags().BoolVar(&m.noConfig, "no-config", false, "write no settings")
	cmd.Flags().StringVar(&m.advertise, "advertise", "", "`address`, host name or interface by which others reach this machine (default: the address from which packets to them start)")
	cmd.Flags().BoolVar(&m.keepStill, "no-start", false, "do not start the unit")
}

// names returns the names of this machine, to be shown with its certificate.
func (m *machine) names(at place) []string {
	names := []string{at.host}
	if host, err := os.Hostname(); err == nil && host != at.host {
		names = append(names, host)
	}
	return names
}

// save writes keys and certificates into the data folder, which other accounts than its own may not enter.
func (m *machine) save(own *trust.Material) error {
	if err := m.makeData(); err != nil {
		return err
	}
	dir := m.trust()
	return errors.Join(trust.Save(dir, own), giveTo(m.data, dir))
}

// makeData makes the data folder. Other accounts pass through those above it, since the data folder of a peer belongs to an
// account of its own.
func (m *machine) makeData() error {
	if err := os.MkdirAll(filepath.Dir(filepath.Clean(m.data)), 0o755); err != nil { //nolint:gosec // they hold nothing but data folders
		return err
	}
	return os.MkdirAll(m.data, 0o700)
}

// ownAccount returns an error if keys that exist belong to another account than this one: root would make files that the
// server could not read.
func (m *machine) ownAccount() error {
	info, err := os.Stat(m.trust())
	if err != nil {
		return err
	}
	if owner, is := info.Sys().(*syscall.Stat_t); is && owner.Uid != uint32(os.Geteuid()) {
		return fmt.Errorf("nothing was changed: %s belongs to user id %d, and this command runs as %d: run it under that account with runuser -u ACCOUNT", m.trust(), owner.Uid, os.Geteuid())
	}
	return nil
}

// trust returns the folder for keys and certificates.
func (m *machine) trust() string { return filepath.Join(m.data, trust.Subfolder) }

// giveTo makes the owner of a data folder the owner of a folder in it and of all below, if root has made that for another account.
func giveTo(data, dir string) error {
	info, err := os.Stat(data)
	if err != nil || os.Geteuid() != 0 {
		return err
	}
	owner, is := info.Sys().(*syscall.Stat_t)
	if !is || owner.Uid == 0 {
		return nil
	}
	made, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	err = fs.WalkDir(made.FS(), ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return made.Lchown(path, int(owner.Uid), int(owner.Gid))
	})
	return errors.Join(err, made.Close())
}

// readSettings reads the file of settings; nil: none is written.
func (m *machine) readSettings() (*settings, error) {
	if m.noConfig {
		return nil, nil //nolint:nilnil // documented
	}
	return readSettings(m.config)
}

// configure adds sections to the file of settings, and prints those that the file has already.
func configure(out io.Writer, f *settings, sections ...section) error {
	if f == nil {
		return nil
	}
	kept, err := f.add(sections...)
	if err != nil {
		return err
	}
	for _, s := range kept {
		text, err := s.text()
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s has a section %s already, which stays as it is. Compare it with:\n\n%s\n", f.path, s.name, text)
	}
	return nil
}

// begin starts a unit, or prints how to start the program; started is false then.
func (m *machine) begin(ctx context.Context, out io.Writer, u unit, program string) (started bool, err error) {
	switch {
	case m.noConfig:
		return false, nil
	case m.keepStill || !u.ready(ctx):
		fmt.Fprintf(out, "Start it with: berth %s --config %s\n", program, m.config)
		return false, nil
	}
	if err := u.start(ctx); err != nil {
		return false, err
	}
	fmt.Fprintf(out, "%s is started.\n", u)
	return true, nil
}

// known returns the material in the data folder; nil: there is none.
func (m *machine) known() (*trust.Material, error) {
	if m.data == "" {
		return nil, cmdline.Usage("--data-dir is missing: give the folder for the state of this machine")
	}
	var err error
	if m.data, err = filepath.Abs(m.data); err != nil { // the file of settings serves from every folder
		return nil, err
	}
	own, err := trust.Load(m.trust())
	switch {
	case errors.Is(err, trust.ErrEmpty):
		return nil, nil //nolint:nilnil // documented
	case err != nil:
		return nil, fmt.Errorf("nothing was changed: %w", err)
	}
	return own, nil
}

// belongs describes the member that a data folder is of.
func (m *machine) belongs(own *trust.Material) (string, error) {
	i, err := own.Identity()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s is the folder of %s %s of cluster %s", m.data, i.Role, i.Name, i.Cluster), nil
}
