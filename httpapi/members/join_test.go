package members_test

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/membership"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/forward"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/trust"
)

// joinToken makes a token by which a machine joins.
func joinToken(s *apitest.Secured, body *wire.MakeToken) trust.Token {
	s.T.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		s.T.Fatal(err)
	}
	made := wire.MadeToken{}
	s.Do(http.MethodPost, "/tokens", string(data)).Into(&made)
	token, err := trust.ParseToken(made.Secret)
	if err != nil || token.Pin != trust.PinOf(s.Own.Authorities[0]) || made.ExpiresAt.Sub(s.Now()) != time.Hour {
		s.T.Fatalf("token %+v until %s: %v", token, made.ExpiresAt, err)
	}
	return token
}

// joins asks to join by TLS, as a machine that knows the cluster by the pin of the token only.
func joins(s *apitest.Secured, token trust.Token, body *wire.Join) (*wire.Joined, error) {
	s.T.Helper()
	config := trust.Pinned(token.Pin, time.Now, func(*x509.Certificate) error { return nil })
	c, err := client.New(client.Options{Addresses: []string{s.Address}, Dial: func(ctx context.Context, _, address string) (net.Conn, error) {
		return trust.Dial(ctx, nil, address, config)
	}})
	if err != nil {
		s.T.Fatal(err)
	}
	defer c.Close()
	return client.MembersOf(c).Join(s.T.Context(), body)
}

// newRequest is a request for a certificate with a key of its own.
func newRequest(t *testing.T) []byte {
	t.Helper()
	key, err := trust.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	request, err := trust.NewRequest(key)
	if err != nil {
		t.Fatal(err)
	}
	return request
}

func newJoin(s *apitest.Secured, t *testing.T, token trust.Token, name string) *wire.Join {
	t.Helper()
	return &wire.Join{Token: token.Credential(), Role: string(token.Role), Name: name, Request: newRequest(t), Time: s.Now()}
}

// A machine joins with a token, through any peer, gets the certificate of its name, and may ask again. The key of the
// authority is for peers only.
func TestMachinesJoinWithATokenOnce(t *testing.T) {
	t.Parallel()
	lead := apitest.NewSecured(t, apitest.New(t), forward.Leader{ID: "p2", Self: true, Address: "127.0.0.1:1"})
	follower := apitest.NewSecured(t, lead.Site, forward.Leader{ID: "p1", Address: lead.Wired.Address})
	follower.Own = lead.Own
	for _, role := range []string{"agent", "peer"} {
		token := joinToken(lead, &wire.MakeToken{Role: role})
		body := newJoin(lead, t, token, "m-"+role)
		got, err := joins(lead, token, body)
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := x509.ParseCertificate(got.Certificate)
		if err != nil {
			t.Fatal(err)
		}
		if i, err := trust.ParseIdentity(leaf.URIs[0]); err != nil || i.Name != "m-"+role || i.Role != token.Role || i.Cluster != got.Cluster {
			t.Errorf("%+v, %v", i, err)
		}
		if (len(got.Keys) == 1) != (role == "peer") || !strings.Contains(got.Authorities, "BEGIN CERTIFICATE") {
			t.Errorf("%s: %d keys, authorities %q", role, len(got.Keys), got.Authorities)
		}
		if again, err := joins(lead, token, body); err != nil || len(again.Certificate) == 0 {
			t.Errorf("%s: again: %v", role, err)
		}
		if _, err := joins(lead, token, newJoin(lead, t, token, "m-"+role)); apitest.CodeOf(err) != model.CodeDenied.String() {
			t.Errorf("%s: another machine with the token: %v", role, err)
		}
	}
	token := joinToken(lead, &wire.MakeToken{Role: "agent"})
	request, err := json.Marshal(newJoin(lead, t, token, "gpu6"))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the answer is lost, and the client sends the request again
		lead.Do(http.MethodPost, "/cluster/join", string(request), "Idempotency-Key", "one-join").Into(new(wire.Joined))
	}
	token = joinToken(lead, &wire.MakeToken{Role: "agent", User: "gpu7"})
	_, err = client.MembersOf(follower.Plain()).Join(t.Context(), newJoin(lead, t, token, "gpu7"))
	if state := lead.State(); err != nil || !state.Certificates.Has(membership.Member{Role: model.RoleAgent, Name: "gpu7"}) {
		t.Errorf("through a follower: %v", err)
	}
}

// The certificate of a peer names the host at which it was found and those of the token, and that of a node none: what a machine
// says of itself is in no certificate.
func TestNamesInACertificateAreProven(t *testing.T) {
	t.Parallel()
	s := apitest.NewSecured(t, apitest.New(t), forward.Leader{ID: "p2", Self: true, Address: "127.0.0.1:1"})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	proof := trust.NewProof()
	go trust.Answer(l, proof)
	for name, v := range map[string]struct {
		token wire.MakeToken
		want  string
	}{
		"n1": {wire.MakeToken{Role: "agent"}, ""},
		"p3": {wire.MakeToken{Role: "peer"}, "127.0.0.1"},
		"p4": {wire.MakeToken{Role: "peer", Hosts: []string{"head.example.org", "10.0.0.4", "127.0.0.1"}}, "head.example.org 10.0.0.4 127.0.0.1"},
	} {
		token := joinToken(s, &v.token)
		body := newJoin(s, t, token, name)
		body.Address, body.Proof = l.Addr().String(), proof
		got, err := joins(s, token, body)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		leaf, err := x509.ParseCertificate(got.Certificate)
		if err != nil {
			t.Fatal(err)
		}
		if names := strings.Join(trust.NamesOf(leaf), " "); names != v.want {
			t.Errorf("%s: the certificate names %q, want %q", name, names, v.want)
		}
	}
	for what, body := range map[string]string{
		"a node": `{"role":"agent","hosts":["head.example.org"]}`, "a user": `{"user":"ann","role":"user","hosts":["head.example.org"]}`,
		"no host": `{"role":"peer","hosts":["a b"]}`, "two in one": `{"role":"peer","hosts":["a,b c"]}`,
	} {
		if got := s.Do(http.MethodPost, "/tokens", body); got.Status != http.StatusBadRequest && got.Status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d", what, got.Status)
		}
	}
	token := joinToken(s, &wire.MakeToken{Role: "peer"})
	text, err := json.Marshal(newJoin(s, t, token, "p5"))
	if err != nil {
		t.Fatal(err)
	}
	claims := strings.Replace(string(text), "{", `{"names":["berth.example.org"],`, 1)
	if got := s.Do(http.MethodPost, "/cluster/join", claims); got.Status == http.StatusOK {
		t.Error("a machine names itself")
	}
}

// Whatever is wrong with a join is said, and the token stays good.
func TestWrongJoins(t *testing.T) {
	t.Parallel()
	s := apitest.NewSecured(t, apitest.New(t), forward.Leader{ID: "p2", Self: true, Address: "127.0.0.1:1"})
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	go trust.Answer(silent, trust.NewProof())
	node := joinToken(s, &wire.MakeToken{Role: "agent"})
	named := joinToken(s, &wire.MakeToken{Role: "agent", User: "gpu1"})
	bound := joinToken(s, &wire.MakeToken{Role: "agent", Network: "10.9.0.0/16"})
	for name, v := range map[string]struct {
		token  trust.Token
		change func(*wire.Join)
		code   string
		text   string
	}{
		"no such token":     {node, func(b *wire.Join) { b.Token = trust.NewToken(trust.RoleNode, node.Pin).Credential() }, "denied", "unknown"},
		"the other role":    {node, func(b *wire.Join) { b.Role = "peer" }, "denied", "unknown"},
		"no role":           {node, func(b *wire.Join) { b.Role = "admin" }, wire.CodeInvalid, "peer or node"},
		"no name":           {node, func(b *wire.Join) { b.Name = "a b" }, wire.CodeInvalid, "space"},
		"the wrong name":    {named, func(b *wire.Join) { b.Name = "gpu2" }, "denied", "is for node gpu1"},
		"another network":   {bound, func(*wire.Join) {}, "denied", "10.9.0.0/16"},
		"a clock behind":    {node, func(b *wire.Join) { b.Time = b.Time.Add(-time.Hour) }, wire.CodeInvalid, "correct the clock"},
		"a clock ahead":     {node, func(b *wire.Join) { b.Time = b.Time.Add(time.Minute) }, wire.CodeInvalid, "correct the clock"},
		"no request":        {node, func(b *wire.Join) { b.Request = []byte("x") }, wire.CodeInvalid, "request"},
		"no address":        {node, func(b *wire.Join) { b.Address = "gpu1" }, wire.CodeInvalid, "address"},
		"a closed port":     {node, func(b *wire.Join) { b.Address, b.Proof = "127.0.0.1:1", trust.NewProof() }, wire.CodeInvalid, "firewall"},
		"another machine's": {node, func(b *wire.Join) { b.Address, b.Proof = silent.Addr().String(), trust.NewProof() }, wire.CodeInvalid, "another program"},
	} {
		body := newJoin(s, t, v.token, "gpu1")
		v.change(body)
		if _, err := joins(s, v.token, body); apitest.CodeOf(err) != v.code || !strings.Contains(err.Error(), v.text) {
			t.Errorf("%s: %v, want %s with %q", name, err, v.code, v.text)
		}
	}
	if state := s.State(); state.Tokens.Len() != 3 || state.Certificates.Len() != 0 {
		t.Errorf("%d tokens and %d certificates", state.Tokens.Len(), state.Certificates.Len())
	}
	for body, field := range map[string]string{
		`{"role": "agent", "expires_in": "never"}`: "expires_in", `{"role": "peer", "expires_in": "8d"}`: "expires_in",
		`{"role": "user", "user": "ann", "network": "10.0.0.0/8"}`: "network", `{"role": "agent", "network": "10.0.0.1/8"}`: "network",
	} {
		if got := s.Do(http.MethodPost, "/tokens", body); got.Status != http.StatusUnprocessableEntity && got.Status != http.StatusBadRequest ||
			!strings.Contains(string(got.Body), field) {
			t.Errorf("%s: %d %s", body, got.Status, got.Body)
		}
	}
}

// The address of a machine that joins is reached, and a join token is no credential for other paths.
func TestJoinsAreProbed(t *testing.T) {
	t.Parallel()
	s := apitest.NewSecured(t, apitest.New(t), forward.Leader{ID: "p2", Self: true, Address: "127.0.0.1:1"})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	token := joinToken(s, &wire.MakeToken{Role: "peer"})
	body := newJoin(s, t, token, "p9")
	body.Address, body.Proof = l.Addr().String(), trust.NewProof()
	go trust.Answer(l, body.Proof)
	if _, err := joins(s, token, body); err != nil {
		t.Error(err)
	}
}

// Peers are removed, promoted and let lead; what would stop the cluster is refused.
func TestChangesOfPeers(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	for path, v := range map[string]struct {
		method, code, text string
	}{
		"/cluster/peers/p9":         {http.MethodDelete, wire.CodeNotFound, "no peer p9"},
		"/cluster/peers/p9/lead":    {http.MethodPost, wire.CodeNotFound, "no peer p9"},
		"/cluster/peers/p9/promote": {http.MethodPost, wire.CodeNotFound, "no peer p9"},
		"/cluster/peers/p2/promote": {http.MethodPost, "", "has a vote already"},
		"/cluster/peers/p1":         {http.MethodDelete, model.CodeConflict.String(), "0 of 1 voters would be up"},
	} {
		if got := s.Do(v.method, path, ""); got.Header.Get(wire.HeaderCode) != v.code || !strings.Contains(string(got.Body), v.text) {
			t.Errorf("%s: %d %s", path, got.Status, got.Body)
		}
	}
	for path, method := range map[string]string{"/cluster/peers/p2": http.MethodDelete, "/cluster/peers/p2/lead": http.MethodPost, "/cluster/peers/p1/lead": http.MethodPost} {
		if got := s.Do(method, path, ""); got.Status != http.StatusOK {
			t.Errorf("%s: %d %s", path, got.Status, got.Body)
		}
	}
	s.With(func(c *statetest.Cluster) { // another peer has removed p3, and was cut off before it revoked the certificates
		c.Do(&command.RecordCertificate{
			Member: membership.Member{Role: model.RolePeer, Name: "p3"}, Serial: "01", Key: model.Hash{1}, Issued: c.Now,
			Expires: c.Now + 1,
		})
	})
	if got := s.Do(http.MethodDelete, "/cluster/peers/p3", ""); got.Status != http.StatusOK {
		t.Errorf("the rest of a removal: %d %s", got.Status, got.Body)
	}
	slices.Sort(s.Moved)
	if want := []string{"remove p2", "transfer p2"}; !slices.Equal(s.Moved, want) {
		t.Errorf("carried out: %v, want %v", s.Moved, want)
	}
	state := s.State()
	if row, found := state.Certificates.Get(membership.Member{Role: model.RolePeer, Name: "p2"}); !found || !row.Revoked {
		t.Errorf("the certificates of the removed peer: %+v", row)
	}
	peers := wire.Peers{}
	s.Do(http.MethodGet, "/cluster/peers", "").Into(&peers)
	if peers.Voters != 2 || peers.Tolerates != -1 || !peers.Peers[0].Voter {
		t.Errorf("%+v", peers)
	}
}

// A member whose certificates are revoked is refused at its next request, on the same connection, and joins again with
// a new token.
func TestRevokedMembersAreRefused(t *testing.T) {
	t.Parallel()
	s := apitest.NewSecured(t, apitest.New(t), forward.Leader{ID: "p2", Self: true, Address: "127.0.0.1:1"})
	agent := s.AgentOf(s.Member(trust.RoleNode, "n1"))
	register := func() error {
		q := apitest.Registration()
		q.Node, q.Machine, q.Lineage = "n1", "n1", "n1"
		_, err := agent.Register(t.Context(), q)
		return err
	}
	if err := register(); err != nil {
		t.Fatal(err)
	}
	members := client.MembersOf(s.Plain())
	if _, err := members.Revoke(t.Context(), "nodes", "n1", false); apitest.CodeOf(err) != wire.CodeInvalid {
		t.Errorf("a role that is none: %v", err)
	}
	if _, err := members.Revoke(t.Context(), "node", "n1", false); err != nil {
		t.Fatal(err)
	}
	if err := register(); apitest.CodeOf(err) != wire.CodeUnauthenticated {
		t.Errorf("revoked: %v", err)
	}
	list, err := members.Certificates(t.Context())
	if err != nil || len(list.Certificates) != 1 || !list.Certificates[0].Revoked || list.Certificates[0].Name != "n1" ||
		list.Certificates[0].Role != "node" {
		t.Errorf("%+v, %v", list, err)
	}
}

// A voter that reports to the leader and takes no part in Raft is none that is up: without the others nothing could be committed.
func TestAVoterThatOnlyReportsIsNotUp(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	s.With(func(*statetest.Cluster) { s.Voters, s.Aside = []model.PeerID{"p1", "p2", "p3"}, "p3" })
	if got := s.Do(http.MethodDelete, "/cluster/peers/p2", ""); got.Status != http.StatusConflict || !strings.Contains(string(got.Body), "1 of 2 voters would be up") {
		t.Errorf("the removal of another voter: %d %s", got.Status, got.Body)
	}
	s.With(func(*statetest.Cluster) { s.Late = 3 }) // a new leader has not heard the other yet
	if got := s.Do(http.MethodDelete, "/cluster/peers/p2", ""); got.Status != http.StatusOK {
		t.Errorf("a removal while the others take part: %d %s", got.Status, got.Body)
	}
}
