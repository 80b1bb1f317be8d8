package members_test

import (
	"net/http"
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

// foreignCertificates are those of a later generation, of a node whose certificate has expired, and of another cluster.
func foreignCertificates(t *testing.T, s *apitest.Secured) (later, expired, other *trust.Material) {
	t.Helper()
	former := *s.Own
	former.Generation++
	var err error
	later, err = former.Certify(trust.Member{Role: trust.RolePeer, Name: "p7"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	expired, err = s.Own.Certify(trust.Member{Role: trust.RoleNode, Name: "n2", Life: time.Minute}, time.Now().Add(-30*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	other, err = trust.Found(trust.Member{Name: "p7"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return later, expired, other
}

// A machine whose certificate is refused learns why from any peer, without a leader and without another credential.
func TestStandings(t *testing.T) {
	t.Parallel()
	s := apitest.NewSecured(t, apitest.New(t), forward.Leader{})
	members := client.MembersOf(s.Plain())
	ask := func(m *trust.Material) *wire.Standing {
		t.Helper()
		got, err := members.Standing(t.Context(), m.Certificate.Raw)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	revoke := func(role model.Role, name string) {
		s.With(func(c *statetest.Cluster) {
			c.Now = max(c.Now, model.TimeOf(time.Now()))
			c.Do(&command.RevokeCertificate{Member: membership.Member{Role: role, Name: name}})
		})
	}
	p7, p8, p9, n1 := s.Member(trust.RolePeer, "p7"), s.Member(trust.RolePeer, "p8"), s.Member(trust.RolePeer, "p9"), s.Member(trust.RoleNode, "n1")
	s.With(func(c *statetest.Cluster) {
		c.Do(&command.SetPeer{Peer: model.Peer{ID: "p8", RaftAddress: "10.0.0.8:7000", APIAddress: "10.0.0.8:10000"}})
	})
	if got := ask(p7); got.Refused != "" || got.AnsweredBy != "p2" {
		t.Errorf("a certificate that counts: %+v", got)
	}
	revoke(model.RolePeer, "p7")
	revoke(model.RolePeer, "p8")
	revoke(model.RoleAgent, "n1")
	s.With(func(c *statetest.Cluster) { // another machine has joined as p9
		c.Do(&command.MakeToken{Hash: model.Hash{9}, Role: model.RolePeer, Expires: c.Now.Add(time.Hour)})
		c.Wait(time.Minute)
		c.Do(&command.RecordCertificate{
			Member: membership.Member{Role: model.RolePeer, Name: "p9"}, Serial: "01", Key: model.Hash{1}, Issued: c.Now,
			Expires: c.Now.Add(time.Hour), Token: model.Hash{9},
		})
	})
	later, expired, other := foreignCertificates(t, s)
	for name, v := range map[string]struct {
		of      *trust.Material
		refused string
		text    string
	}{
		"removed":             {p7, wire.RefusedRemoved, "was removed from the cluster"},
		"revoked, a member":   {p8, wire.RefusedRevoked, "berth join peer --renew"},
		"revoked, a node":     {n1, wire.RefusedRevoked, "berth join node --renew"},
		"superseded":          {p9, wire.RefusedReplaced, "berth token join peer --name p9"},
		"expired":             {expired, wire.RefusedExpired, "expired"},
		"a later generation":  {later, wire.RefusedGeneration, "generation"},
		"of another cluster":  {other, wire.RefusedOther, ""},
		"made up, for itself": {&trust.Material{Certificate: other.Authorities[0]}, wire.RefusedOther, ""},
	} {
		if got := ask(v.of); got.Refused != v.refused || !strings.Contains(got.Message, v.text) || got.Message == "" ||
			strings.Contains(got.Message, "revoked") && name == "of another cluster" {
			t.Errorf("%s: %+v, want %s with %q", name, got, v.refused, v.text)
		}
	}
	if _, err := members.Standing(t.Context(), []byte("x")); apitest.CodeOf(err) != wire.CodeInvalid {
		t.Errorf("no certificate: %v", err)
	}
}

// A peer that takes no part in its cluster says why in each answer, and still answers what is about the peer itself.
func TestAPeerThatStandsApartSaysWhy(t *testing.T) {
	t.Parallel()
	s := apitest.NewSecured(t, apitest.New(t), forward.Leader{ID: "p2", Self: true, Address: "127.0.0.1:1"})
	const why = "peer p2 is refused by the others: renew its certificate"
	s.API.Config.Apart = func() string { return why }
	for path, method := range map[string]string{"/queue": http.MethodGet, "/orchestrator/stop": http.MethodPost, "/cluster/peers": http.MethodGet, "/session": http.MethodPost, "/agent/renew": http.MethodPost} {
		got := s.Do(method, path, "{}")
		if path == "/agent/renew" && got.Status == http.StatusNotFound {
			continue
		}
		if got.Status != http.StatusServiceUnavailable || !strings.Contains(string(got.Body), why) {
			t.Errorf("%s %s: %d %s", method, path, got.Status, got.Body)
		}
	}
	for _, path := range []string{"/healthz", "/metrics"} {
		if got := s.Do(http.MethodGet, path, ""); got.Status != http.StatusOK {
			t.Errorf("%s: %d %s", path, got.Status, got.Body)
		}
	}
}

// The certificates of a peer are not refused where the voters that are left would be no majority, whose own certificates count, unless that
// is forced.
func TestRevocationsLeaveAMajority(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	revoke := func(role, name, query string) *apitest.Reply {
		return s.Do(http.MethodDelete, "/cluster/certificates/"+role+"/"+name+query, "")
	}
	refused := func(got *apitest.Reply) bool {
		return got.Status == http.StatusConflict && strings.Contains(string(got.Body), "the cluster would stop") && strings.Contains(string(got.Body), "--force")
	}
	for _, id := range []string{"p1", "p2"} { // p2 is down
		if got := revoke("peer", id, ""); !refused(got) {
			t.Errorf("%s of two voters, one of which is down: %d %s", id, got.Status, got.Body)
		}
	}
	if got := revoke("peer", "p9", ""); got.Status != http.StatusOK {
		t.Errorf("a peer without a vote: %d %s", got.Status, got.Body)
	}
	if got := revoke("node", "p1", ""); got.Status != http.StatusOK {
		t.Errorf("a node: %d %s", got.Status, got.Body)
	}
	s.With(func(*statetest.Cluster) { s.Voters = []model.PeerID{"p1", "p2", "p3"} })
	if got := revoke("peer", "p2", ""); got.Status != http.StatusOK {
		t.Errorf("one of three: %d %s", got.Status, got.Body)
	}
	if got := revoke("peer", "p3", ""); !refused(got) {
		t.Errorf("a second of three: %d %s", got.Status, got.Body)
	}
	if got := s.Do(http.MethodDelete, "/cluster/peers/p1", ""); got.Status != http.StatusConflict || !strings.Contains(string(got.Body), "1 of 2 voters") {
		t.Errorf("a removal counts on a peer whose certificates are refused: %d %s", got.Status, got.Body)
	}
	if got := revoke("peer", "p3", "?force=true"); got.Status != http.StatusOK {
		t.Errorf("forced: %d %s", got.Status, got.Body)
	}
}
