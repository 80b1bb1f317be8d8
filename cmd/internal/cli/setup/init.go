package setup

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/build"
	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/trust"
)

const initLong = `Make a new cluster with this machine as its first peer: a random id, a certificate authority
and the certificate of this peer, in the folder "trust" of the data folder, and the settings
of the peer. Where systemd has the unit berth-server, it is started, and the lines are printed
by which other machines join.

The key of the authority is in the folders of all peers, readable by their owner only. A data
folder that belongs to a cluster already is left as it is.

With --from-backup the cluster is made of a backup, as the next generation of the cluster that
the backup is of: peers of an earlier generation are refused by all members. Nothing is
scheduled until berth cluster resume. The whole backup is checked first; if anything is wrong,
nothing is changed.`

// Restorer makes the data folder of a peer out of a backup: the program of peers knows how.
type Restorer interface {
	// Bind adds its flags.
	Bind(cmd *cobra.Command)
	// Asked reports whether there is a backup to be restored.
	Asked() bool
	// Prepare reads and checks the backup. Its error means that nothing was changed.
	Prepare(in io.Reader, scratch string) error
	// Write makes the content of an empty folder, but for its keys and certificates, which are returned.
	Write(folder string, first trust.Member, address string) (*trust.Material, *trust.Secrets, error)
	// About describes what was restored, and the next steps.
	About() string
}

// ForUsers returns the makers of the commands that make a user's machine a client of a cluster.
func ForUsers() []cli.Maker {
	return []cli.Maker{
		{Name: "login", New: newLogin},
		{Name: "logout", New: newLogout},
	}
}

// ForMembers returns the commands that make a machine a member of a cluster.
func ForMembers(restorer Restorer) []*cobra.Command {
	return []*cobra.Command{newInit(restorer), newJoin()}
}

// founder is the machine of berth init.
type founder struct {
	machine

	life   time.Duration
	backup Restorer
}

func newInit(restorer Restorer) *cobra.Command {
	f := &founder{backup: restorer}
	cmd := &cobra.Command{
		Use: "init", Short: "Make a new cluster with this machine as its first peer", Long: initLong, Args: cli.NoArgs,
		Example: "  berth init\n  berth init --id p1 --advertise 10.0.0.1\n  berth init --from-backup berth-1f3c2a90.berth.tar.zst --identity key.txt",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return roomy(f.run(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout()), "repeat this command")
		},
	}
	f.bind(cmd, peerFolder)
	restorer.Bind(cmd)
	cmd.Flags().DurationVar(&f.life, "life", trust.Life, "`time` for which the peer's certificate is valid; it is renewed at half of that, for as long again")
	return cmd
}

// leastLife leaves time for some tries to renew a certificate.
const leastLife = 10 * time.Second

func (f *founder) run(ctx context.Context, in io.Reader, out io.Writer) error {
	if f.life < leastLife || f.life > trust.Life {
		return cmdline.Usage("--life must be from %s to %s, not %s", leastLife, trust.Life, f.life)
	}
	known, err := f.known()
	if err != nil {
		return err
	}
	if known != nil {
		text, err := f.belongs(known)
		if err != nil {
			return err
		}
		return fmt.Errorf("nothing was changed: %s already: name another folder with --data-dir, or move this one away", text)
	}
	at, err := findPlace(f.advertise, "")
	if err != nil {
		return err
	}
	file, err := f.readSettings()
	if err != nil {
		return err
	}
	if f.backup.Asked() {
		return f.restore(ctx, in, out, at, file)
	}
	own, err := trust.Found(f.member(at), time.Now())
	if err != nil {
		return cmdline.Usage("--id: %w", err)
	}
	if err := f.configure(out, at, file); err != nil {
		return err
	}
	if err := f.save(own); err != nil { // last: a machine with keys is a member, and would not be configured by another try
		return err
	}
	i, err := own.Identity()
	if err != nil {
		return err
	}
	api := at.at(portAPI).reached
	fmt.Fprintf(out, "Cluster %s is made, with peer %s at %s (API %s, other peers %s).\n", i.Cluster, f.name, at.host, api, at.at(portPeer).reached)
	started, err := f.begin(ctx, out, peerUnit, "server")
	if err != nil {
		return err
	}
	pin := trust.PinOf(own.Authorities[0])
	if !started {
		fmt.Fprintf(out, "Then let other machines join, with one token each:\n\n  berth token join peer --address %s\n  berth token join node --address %s\n",
			f.socket(), f.socket())
		return nil
	}
	return f.invite(ctx, out, api, hex.EncodeToString(pin[:]))
}

// member returns the peer that the certificate is for.
func (f *founder) member(at place) trust.Member {
	return trust.Member{Role: trust.RolePeer, Name: f.name, Names: f.names(at), Life: f.life}
}

// configure writes the settings of the peer.
func (f *founder) configure(out io.Writer, at place, file *settings) error {
	sections := peerSections(&f.machine, at, file, entry{"bootstrap", []string{f.name + "=" + at.at(portPeer).reached}})
	if site := siteNetworks(interfaces()); len(site) > 0 { // services of the site's own network get webhooks
		sections = append(sections, section{"webhooks", []entry{{"allow", "0.0.0.0/0,::/0," + strings.Join(site, ",")}}})
	}
	return configure(out, file, sections...)
}

// restore makes the peer out of a backup.
func (f *founder) restore(ctx context.Context, in io.Reader, out io.Writer, at place, file *settings) error {
	if err := f.restoreData(in, out, at, file); err != nil {
		return err
	}
	fmt.Fprint(out, f.backup.About())
	started, err := f.begin(ctx, out, peerUnit, "server")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "Nothing is scheduled yet. Let other machines join, look at nodes and jobs, then resume:\n\n"+
		"  berth token join peer --address %[1]s\n  berth cluster resume --address %[1]s\n", f.socket())
	if started {
		fmt.Fprintln(out, "\nOn this machine root needs no --address.")
	}
	return nil
}

// restoreData makes the data folder and the settings out of a backup. After an error the folder is empty, or gone, as it was before.
func (f *founder) restoreData(in io.Reader, out io.Writer, at place, file *settings) (err error) {
	there, err := f.emptyData()
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.clear(there))
		}
	}()
	if err := f.makeData(); err != nil {
		return err
	}
	scratch, err := os.MkdirTemp(f.data, ".restore-")
	if err != nil {
		return err
	}
	if err := f.backup.Prepare(in, scratch); err != nil {
		return fmt.Errorf("nothing was changed: %w", err)
	}
	server := filepath.Join(scratch, "server")
	if err := os.Mkdir(server, 0o700); err != nil {
		return err
	}
	own, next, err := f.backup.Write(server, f.member(at), at.at(portPeer).reached)
	if err != nil {
		return fmt.Errorf("nothing was changed: %w", err)
	}
	if err := f.configure(out, at, file); err != nil {
		return err
	}
	if err := f.moveIn(server); err != nil {
		return err
	}
	if err := f.save(own); err != nil {
		return err
	}
	return errors.Join(trust.SaveNext(f.trust(), next), giveTo(f.data, f.data), os.RemoveAll(scratch))
}

// clear empties the data folder after an error; there tells whether the folder was there before.
func (m *machine) clear(there bool) error {
	list, err := os.ReadDir(m.data)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range list {
		err = errors.Join(err, os.RemoveAll(filepath.Join(m.data, e.Name())))
	}
	if !there {
		err = errors.Join(err, os.Remove(m.data))
	}
	return err
}

// emptyData returns an error if the data folder is there and not empty, and otherwise whether it is there.
func (m *machine) emptyData() (there bool, err error) {
	list, err := os.ReadDir(m.data)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil && len(list) > 0 {
		err = fmt.Errorf("nothing was changed: %s is not empty (%s): a backup is restored into an empty folder; move this one away", m.data, list[0].Name())
	}
	return true, err
}

// moveIn moves what a folder holds into the data folder.
func (m *machine) moveIn(from string) error {
	list, err := os.ReadDir(from)
	for _, e := range list {
		err = errors.Join(err, os.Rename(filepath.Join(from, e.Name()), filepath.Join(m.data, e.Name())))
	}
	return err
}

// socket returns the address of the peer's socket.
func (m *machine) socket() string { return "unix:" + filepath.Join(m.data, trust.LocalSocket) }

// peerSections returns the settings of a peer.
func peerSections(m *machine, at place, file *settings, how entry) []section {
	peers, api, gossip := at.at(portPeer), at.at(portAPI), at.at(file.gossipPort("server"))
	server := section{"server", []entry{{"id", m.name}, {"data_dir", m.data}, {"listen", peers.bind}, {"http", api.bind}, {"gossip", gossip.bind}}}
	if !at.own {
		server.entries = append(server.entries, entry{"advertise", peers.reached}, entry{"advertise_http", api.reached}, entry{"advertise_gossip", gossip.reached})
	}
	server.entries = append(server.entries, how)
	return []section{server, {"auth", []entry{{"enabled", true}}}}
}

// startLimit bounds the wait for the first peer.
const startLimit = time.Minute

// invite prints the lines by which other machines join, with a token for each of two peers and for one node.
func (f *founder) invite(ctx context.Context, out io.Writer, api, pin string) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	c, err := client.New(client.Options{
		Addresses: []string{"localhost:1"}, Dial: cli.DialSocket(filepath.Join(f.data, trust.LocalSocket)),
		UserAgent: "berth/" + build.Version(), Patience: startLimit,
	})
	if err != nil {
		return err
	}
	defer c.Close()
	var tokens []string
	for _, role := range []string{"peer", "peer", "agent"} {
		made, err := makeToken(ctx, c, &wire.MakeToken{Role: role})
		if err != nil {
			return fmt.Errorf("the cluster is made, and its first peer does not answer: see journalctl -u %s, then berth token join peer: %w", peerUnit, err)
		}
		tokens = append(tokens, made.Secret)
	}
	fmt.Fprintf(out, "\nOn two more machines, within one hour:\n\n  echo %s | berth join peer --address %s\n  echo %s | berth join peer --address %s\n",
		tokens[0], api, tokens[1], api)
	fmt.Fprintf(out, "\nOn a GPU host (berth token join node makes the token of another):\n\n  echo %s | berth join node --address %s\n", tokens[2], api)
	fmt.Fprintf(out, "\nFor a user, here and on the user's machine:\n\n  berth token create --user NAME --role admin\n  berth login --address %s --pin %s\n", api, pin)
	return nil
}

// makeToken makes a token, and tries again while the peer starts.
func makeToken(ctx context.Context, c *client.Client, body *wire.MakeToken) (*wire.MadeToken, error) {
	for {
		made, err := client.PeopleOf(c).MakeToken(ctx, body)
		if err == nil || !starting(err) {
			return made, err
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return nil, err
		}
	}
}
