package setup

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/build"
	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/trust"
)

const initLong = `Make a new cluster with this machine as its first peer: a random id, a certificate authority
and the certificate of this peer, in the folder "trust" of the data folder, and the settings
of the peer. Where systemd has the unit berth-server, it is started, and the lines are printed
by which other machines join.

The key of the authority is in the folders of all peers, readable by their owner only. A data
folder that belongs to a cluster already is left as it is.`

// ForUsers returns the makers of the commands that make a user's machine a client of a cluster.
func ForUsers() []cli.Maker {
	return []cli.Maker{
		{Name: "login", New: newLogin},
		{Name: "logout", New: newLogout},
	}
}

// ForMembers returns the commands that make a machine a member of a cluster.
func ForMembers() []*cobra.Command { return []*cobra.Command{newInit(), newJoin()} }

// founder is the machine of berth init.
type founder struct {
	machine

	life time.Duration
}

func newInit() *cobra.Command {
	f := &founder{}
	cmd := &cobra.Command{
		Use: "init", Short: "Make a new cluster with this machine as its first peer", Long: initLong, Args: cli.NoArgs,
		Example: "  berth init\n  berth init --id p1 --advertise 10.0.0.1",
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), cmd.OutOrStdout()) },
	}
	f.bind(cmd, peerFolder)
	cmd.Flags().DurationVar(&f.life, "life", trust.Life, "`time` for which the peer's certificate is valid; it is renewed at half of that, for as long again")
	return cmd
}

// leastLife leaves time for some tries to renew a certificate.
const leastLife = 10 * time.Second

func (f *founder) run(ctx context.Context, out io.Writer) error {
	if f.life < leastLife || f.life > trust.Life {
		return cli.Usage("--life must be from %s to %s, not %s", leastLife, trust.Life, f.life)
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
	own, err := trust.Found(trust.Member{Name: f.name, Names: f.names(at), Life: f.life}, time.Now())
	if err != nil {
		return cli.Usage("--id: %w", err)
	}
	peers := at.at(portPeer)
	sections := peerSections(&f.machine, at, entry{"bootstrap", []string{f.name + "=" + peers.reached}})
	if err := configure(out, file, sections...); err != nil {
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
	fmt.Fprintf(out, "Cluster %s is made, with peer %s at %s (API %s, other peers %s).\n", i.Cluster, f.name, at.host, api, peers.reached)
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

// socket returns the address of the peer's socket.
func (m *machine) socket() string { return "unix:" + filepath.Join(m.data, trust.LocalSocket) }

// peerSections returns the settings of a peer.
func peerSections(m *machine, at place, how entry) []section {
	peers, api, gossip := at.at(portPeer), at.at(portAPI), at.at(portGossip)
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
	c, err := client.New(client.Options{Addresses: []string{"localhost:1"}, Dial: cli.DialSocket(filepath.Join(f.data, trust.LocalSocket)), UserAgent: "berth/" + build.Version(), Patience: startLimit})
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
