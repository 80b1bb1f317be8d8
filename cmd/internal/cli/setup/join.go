package setup

import (
	"context"
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/build"
	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/cmd/internal/config"
	"github.com/berth-gpu/berth/files/smallfile"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/trust"
)

const joinLong = `Make this machine a member of a cluster, with a token that berth token join has printed on one
of its peers. The token is read from standard input or a file, never from the command line,
which other users can see.

Before the token is sent, this machine checks by the hash in the token that it talks to that
cluster. The cluster then connects back to the address of this machine, and only then is
anything recorded. A join that is repeated changes nothing.

The agent of a node that runs as root, as its unit does, runs jobs under the accounts of their
users: each user needs an account of that name on the machine. If the agent does not start, such
as without a driver, the machine has joined all the same: the exit code is 0, with a warning.

With --renew, a machine whose certificate has expired gets another, with a token for its name.
Its data, its name and its running jobs stay.`

// joiner is the machine of berth join.
type joiner struct {
	machine

	role  trust.Role
	seeds []string
	file  string // of the token; empty: standard input
	renew bool
	users bool // jobs run under the accounts of their users
	now   func() time.Time
}

func newJoin() *cobra.Command {
	cmd := &cobra.Command{
		Use: "join", Short: "Make this machine a peer or a node of a cluster", Long: joinLong, Args: cli.NoArgs,
		Example: "  echo TOKEN | berth join peer --address 10.0.0.1:10000\n  berth join node --address 10.0.0.1:10000 --token-file token --id gpu1",
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newJoinAs(trust.RolePeer, peerFolder), newJoinAs(trust.RoleNode, nodeFolder))
	return cmd
}

func newJoinAs(role trust.Role, data string) *cobra.Command {
	j := &joiner{role: role, now: time.Now}
	cmd := &cobra.Command{
		Use: string(role), Short: "Make this machine a " + string(role) + " of a cluster", Long: joinLong, Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return unfinished(j.run(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout()))
		},
	}
	j.bind(cmd, data)
	cmd.Flags().StringSliceVar(&j.seeds, "address", nil, "API `address,...` of peers of the cluster")
	cmd.Flags().StringVar(&j.file, "token-file", "", "`file` that holds the token, readable by its owner only (default: standard input)")
	cmd.Flags().BoolVar(&j.renew, "renew", false, "get another certificate for this member, which keeps its data")
	return cmd
}

func (j *joiner) run(ctx context.Context, in io.Reader, out io.Writer) error {
	if err := j.checkSeeds(); err != nil {
		return err
	}
	token, err := readToken(in, j.file)
	if err != nil {
		return cmdline.Usage("%w", err)
	}
	if token.Role != j.role {
		return cmdline.Usage("the token is for a %s: run berth join %s, or make another with berth token join %s", token.Role, token.Role, j.role)
	}
	known, err := j.known()
	if err != nil {
		return err
	}
	if known != nil {
		done, err := j.again(out, token, known)
		if done || err != nil {
			return err
		}
	} else if j.renew {
		return cmdline.Usage("%s holds no certificate that could be renewed: leave --renew out", j.data)
	}
	at, err := findPlace(j.advertise, j.seeds[0])
	if err != nil {
		return err
	}
	file, err := j.readSettings()
	if err != nil {
		return err
	}
	joined, own, err := j.ask(ctx, token, at, known)
	if err != nil {
		return err
	}
	if !j.renew {
		j.users = j.role == trust.RoleNode && nodeUnit.asRoot(ctx)
		if err := configure(out, file, j.sections(at, joined, file)...); err != nil {
			return err
		}
	}
	if err := j.save(own); err != nil { // last: a machine with keys is a member, and would not be configured by another try
		return err
	}
	if err := os.Remove(j.pending()); err != nil {
		return err
	}
	fmt.Fprintf(out, "This machine is %s %s of cluster %s; the certificate is valid until %s.\n", j.role, j.name, joined.Cluster, own.Certificate.NotAfter.Local().Format(time.DateTime))
	if j.renew {
		fmt.Fprintln(out, "If it is running, it uses this certificate within a minute.")
	}
	return j.first(ctx, out)
}

// first starts the member. A node whose agent does not come up is a member all the same: the command has done what it is for,
// and says what is left to do.
func (j *joiner) first(ctx context.Context, out io.Writer) error {
	if j.role == trust.RolePeer {
		_, err := j.begin(ctx, out, peerUnit, "server")
		return err
	}
	if j.users {
		fmt.Fprintln(out, "Jobs run here under the accounts of their users (agent.run_as_users): each user needs one on this machine, such as by useradd -m NAME.")
	}
	_, err := j.begin(ctx, out, nodeUnit, "agent")
	if down, is := errors.AsType[*notUpError](err); is {
		fmt.Fprintf(out, "Warning: the machine has joined, but %v\nCorrect that, by a setting in %s where one is named, then: systemctl restart %s\n", down, j.config, nodeUnit)
		return nil
	}
	return err
}

func (j *joiner) checkSeeds() error {
	if len(j.seeds) == 0 {
		return cmdline.Usage("--address is missing: give the API address of a peer of the cluster, such as 10.0.0.1:%d", portAPI)
	}
	for _, seed := range j.seeds {
		if err := cli.CheckAddress(seed); err != nil {
			return cmdline.Usage("--address: %w", err)
		}
	}
	return nil
}

// readToken reads the token of a file, or of standard input.
func readToken(in io.Reader, file string) (trust.Token, error) {
	var text []byte
	var err error
	if file != "" {
		text, err = config.ReadPrivate(file)
	} else {
		text, err = io.ReadAll(io.LimitReader(in, 4<<10))
	}
	if err != nil {
		return trust.Token{}, fmt.Errorf("cannot read the token: %w", err)
	}
	if strings.TrimSpace(string(text)) == "" {
		return trust.Token{}, errors.New("there is no token on standard input: pipe one into this command, or name its file with --token-file")
	}
	return trust.ParseToken(string(text))
}

// again looks at a machine that belongs to a cluster already. done reports that nothing is to do.
func (j *joiner) again(out io.Writer, token trust.Token, known *trust.Material) (done bool, err error) {
	i, err := known.Identity()
	if err != nil {
		return false, err
	}
	text, err := j.belongs(known)
	if err != nil {
		return false, err
	}
	same := false
	for _, a := range known.Authorities {
		same = same || trust.PinOf(a) == token.Pin
	}
	switch {
	case !same && !j.renew: // the authority may have been replaced while this machine was away
		return false, fmt.Errorf("nothing was changed: %s, and the token is of another cluster: name another folder with --data-dir, or move this one away", text)
	case i.Role != j.role:
		return false, fmt.Errorf("nothing was changed: %s, and not of a %s: name another folder with --data-dir", text, j.role)
	case j.renew:
		j.name = i.Name
		return false, j.ownAccount()
	case i.Name != j.name:
		return false, fmt.Errorf("nothing was changed: %s, and --id is %s: a name never changes; name another folder with --data-dir", text, j.name)
	}
	fmt.Fprintf(out, "Nothing was changed: %s already. The token was not used.\n", text)
	return true, nil
}

// pending is the file with the private key of a join under way: one that is repeated uses the same key, so that the
// cluster knows it as the same machine.
func (j *joiner) pending() string { return filepath.Join(j.data, "join.key") }

// pendingKey returns the key of a join that was interrupted, or a new one, which is stored first.
func (j *joiner) pendingKey() (crypto.Signer, error) {
	if text, err := config.ReadPrivate(j.pending()); err == nil {
		if key, err := trust.DecodeKey(text); err == nil {
			return key, nil
		}
	}
	key, err := trust.NewKey()
	if err != nil {
		return nil, err
	}
	text, err := trust.EncodeKey(key)
	if err != nil {
		return nil, err
	}
	if err := j.makeData(); err != nil {
		return nil, err
	}
	return key, smallfile.WriteBytes(j.pending(), text)
}

// ask joins, and returns the answer and the material of this machine.
func (j *joiner) ask(ctx context.Context, token trust.Token, at place, known *trust.Material) (*wire.Joined, *trust.Material, error) {
	key, err := j.pendingKey()
	if err != nil {
		return nil, nil, err
	}
	request, err := trust.NewRequest(key)
	if err != nil {
		return nil, nil, err
	}
	body := &wire.Join{Token: token.Credential(), Role: string(j.role), Name: j.name, Request: request, Renew: j.renew}
	if !j.renew {
		stop, err := j.answer(body, at)
		if err != nil {
			return nil, nil, err
		}
		defer stop()
	}
	c, err := client.New(client.Options{
		Addresses: j.seeds, UserAgent: "berth/" + build.Version(),
		Dial: cli.DialTLS(trust.Pinned(token.Pin, j.now, func(c *x509.Certificate) error { return j.sameCluster(known, c) })),
	})
	if err != nil {
		return nil, nil, cmdline.Usage("--address: %w", err)
	}
	defer c.Close()
	body.Time = j.now()
	joined, err := client.MembersOf(c).Join(ctx, body)
	if err != nil {
		return nil, nil, fmt.Errorf("this machine has not joined: %w", j.plainly(err))
	}
	own, err := j.material(joined, key, known)
	return joined, own, err
}

// plainly returns an error of the request without the advice for other commands, which have a login and variables.
func (j *joiner) plainly(err error) error {
	if cut, is := errors.AsType[*client.CutError](err); is {
		err = cut.Err
	}
	parts, is := err.(interface{ Unwrap() []error })
	if !is || !errors.Is(err, client.ErrUnreachable) || len(parts.Unwrap()) != 2 {
		return err
	}
	return fmt.Errorf("no peer can be reached at %s: %w", strings.Join(j.seeds, ", "), parts.Unwrap()[1])
}

// unfinished returns the error of a join that has ended half-way, with what to do.
func unfinished(err error) error { return roomy(err, "repeat this command with the same token") }

// roomy returns an error in one line if it is that a disk is full, whichever and however many files could not be written.
func roomy(err error, next string) error {
	for _, full := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT} {
		if !errors.Is(err, full) {
			continue
		}
		where := "the disk of this machine"
		if at, is := errors.AsType[*fs.PathError](err); is {
			where = "the disk of " + filepath.Dir(at.Path)
		}
		return fmt.Errorf("%s is full (space, inodes or a quota): make room, and %s: %w", where, next, full)
	}
	return err
}

// sameCluster returns an error if an authority is that of another cluster than this machine belongs to.
func (j *joiner) sameCluster(known *trust.Material, authority *x509.Certificate) error {
	if known == nil {
		return nil
	}
	was, err := known.Identity()
	if other := (&trust.Authority{Certificate: authority}).Cluster(); err == nil && other != was.Cluster {
		err = fmt.Errorf("%s belongs to cluster %s, and the token is of cluster %s: name another folder with --data-dir, or move this one away", j.data, was.Cluster, other)
	}
	return err
}

// answer answers the cluster at the address of this machine while it joins.
func (j *joiner) answer(body *wire.Join, at place) (stop func(), err error) {
	port := portPeer
	if j.role == trust.RoleNode {
		port = portAgent
	}
	a := at.at(port)
	l, err := net.Listen("tcp", a.bind)
	if err != nil {
		return nil, fmt.Errorf("this machine cannot listen on %s, where other machines will reach it: %w", a.bind, err)
	}
	body.Address, body.Proof = a.reached, trust.NewProof()
	go trust.Answer(l, body.Proof)
	return func() { _ = l.Close() }, nil
}

// material returns what this machine keeps, after checks of the answer.
func (j *joiner) material(joined *wire.Joined, key crypto.Signer, known *trust.Material) (*trust.Material, error) {
	own := &trust.Material{Key: key, Revision: joined.Revision}
	var err error
	if own.Certificate, err = x509.ParseCertificate(joined.Certificate); err != nil {
		return nil, err
	}
	if own.Authorities, err = trust.DecodeCertificates([]byte(joined.Authorities), trust.MaxAuthorities); err != nil {
		return nil, err
	}
	if len(joined.Link) > 0 {
		if own.Link, err = x509.ParseCertificate(joined.Link); err != nil {
			return nil, err
		}
	}
	i, err := own.Identity()
	if err != nil {
		return nil, err
	}
	if own.Generation = i.Generation; known != nil {
		if j.role == trust.RolePeer && i.Generation > known.Generation {
			return nil, fmt.Errorf("nothing was changed: the cluster has generation %d and this peer %d: it was left behind by a recovery; let the machine join with an empty data folder under another name", i.Generation, known.Generation)
		}
		if j.role == trust.RolePeer { // a node believes the token: it may have followed a generation that is none
			own.Generation = max(own.Generation, known.Generation)
		}
	}
	rules := trust.Rules{Cluster: joined.Cluster, Generation: i.Generation, Role: j.role, Name: j.name, Roots: own.Authorities, Now: j.now()}
	if _, err := rules.Verify([]*x509.Certificate{own.Certificate}); err != nil {
		return nil, fmt.Errorf("the certificate that the cluster has issued is of no use: %w", err)
	}
	if j.role == trust.RoleNode {
		return own, nil
	}
	if own.Keys, err = trust.ParseKeys(joined.Keys); err != nil {
		return nil, fmt.Errorf("the keys of the authority that the cluster has sent: %w", err)
	}
	_, err = own.Issuer()
	return own, err
}

// sections returns the settings of the new member.
func (j *joiner) sections(at place, joined *wire.Joined, file *settings) []section {
	var api, raft []string
	for _, p := range joined.Peers {
		api, raft = append(api, p.API), append(raft, p.Raft)
	}
	if j.role == trust.RolePeer {
		return peerSections(&j.machine, at, file, entry{"join", raft})
	}
	own, gossip := at.at(portAgent), at.at(file.gossipPort("agent"))
	agent := section{"agent", []entry{{"node", j.name}, {"data_dir", j.data}, {"peers", api}, {"listen", own.bind}, {"gossip", gossip.bind}}}
	if !at.own {
		agent.entries = append(agent.entries, entry{"advertise", own.reached}, entry{"advertise_gossip", gossip.reached})
	}
	if j.users {
		agent.entries = append(agent.entries, entry{"run_as_users", true})
	}
	return []section{agent}
}

// starting reports whether an error means that a peer is not ready yet.
func starting(err error) bool {
	if p, is := errors.AsType[*wire.Problem](err); is {
		return p.Status == http.StatusServiceUnavailable
	}
	return errors.Is(err, client.ErrUnreachable)
}
