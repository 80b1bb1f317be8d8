package members_test

import (
	"crypto/x509"
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/membership"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/agentwire"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/forward"
	"github.com/berth-gpu/berth/httpapi/members"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/trust"
)

// A rotation begins once all peers hold the next secret, which is in no answer and not in the state; else nothing changes. There is
// one at a time, and it can be ended.
func TestARotationBegins(t *testing.T) {
	t.Parallel()
	lead := apitest.NewSecured(t, apitest.New(t), forward.Leader{ID: "p2", Self: true, Address: "127.0.0.1:1"})
	other := apitest.NewSecured(t, lead.Site, forward.Leader{ID: "p1", Address: lead.Wired.Address})
	calls := client.MembersOf(lead.Plain())
	if got := lead.Do(http.MethodPost, "/cluster/rotation", `{"rotation":"moon"}`); got.Status != http.StatusUnprocessableEntity {
		t.Errorf("an unknown rotation: %d %s", got.Status, got.Body)
	}
	_, err := calls.Rotate(t.Context(), "ca")
	if state := lead.State(); apitest.CodeOf(err) != model.CodeConflict.String() || !strings.Contains(err.Error(), "peer p1 cannot store the next key") ||
		state.Trust() != (membership.Trust{}) {
		t.Errorf("without a peer: %v, %+v", err, state.Trust())
	}
	lead.With(func(*statetest.Cluster) { lead.First = other.Wired.Address })
	begun, err := calls.Rotate(t.Context(), "ca")
	if err != nil || begun.Rotation != "ca" || begun.Step != 1 || begun.Steps != 2 || begun.Revision != 1 || begun.By != "user:anonymous" {
		t.Fatalf("begun: %+v, %v", begun, err)
	}
	state := lead.State()
	row := state.Trust()
	next, err := x509.ParseCertificate(decoded(t, row.Accepted))
	if err != nil {
		t.Fatal(err)
	}
	kept, err := other.API.Config.Authority.Secrets()
	if err != nil || len(kept.Authorities) != 2 {
		t.Fatalf("the other peer holds %d keys, %v", len(kept.Authorities), err)
	}
	if _, err := trust.OpenAuthority(next, kept.Authorities[1]); err != nil {
		t.Errorf("the other peer holds another key: %v", err)
	}
	if again, err := calls.Rotate(t.Context(), "ca"); err != nil || again.Revision != 1 || again.Rotation != "ca" { // whose answer was lost
		t.Errorf("the same again: %+v, %v", again, err)
	}
	if _, err := calls.Rotate(t.Context(), "leaf"); apitest.CodeOf(err) != model.CodeConflict.String() || !strings.Contains(err.Error(), "under way") {
		t.Errorf("a second one: %v", err)
	}
	ended, err := calls.AbortRotation(t.Context())
	if err != nil || ended.Rotation != "" || ended.Revision != 2 {
		t.Errorf("ended: %+v, %v", ended, err)
	}
	if _, err := calls.AbortRotation(t.Context()); apitest.CodeOf(err) != model.CodeConflict.String() {
		t.Errorf("ended twice: %v", err)
	}
}

func decoded(t *testing.T, text string) []byte {
	t.Helper()
	der, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

// certified is another certificate of an agent's node.
func certified(t *testing.T, agent *client.Agent) *agentwire.Certified {
	t.Helper()
	answer, err := agent.Certify(t.Context(), &agentwire.Certify{Request: newRequest(t), Life: trust.Life})
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// A peer and an agent get what the present step needs, with the certificate, and report that they use the step; the answer names those
// that have not.
func TestMembersFollowARotation(t *testing.T) {
	t.Parallel()
	s := apitest.NewSecured(t, apitest.New(t), forward.Leader{ID: "p2", Self: true, Address: "127.0.0.1:1"})
	second := apitest.NewSecured(t, s.Site, forward.Leader{ID: "p1", Address: s.Wired.Address})
	s.With(func(*statetest.Cluster) { s.First = second.Wired.Address })
	members.RecordOwn(t.Context(), s.API, s.Own.Certificate)
	agent := s.AgentOf(s.Member(trust.RoleNode, "n1"))
	if first := certified(t, agent); first.Revision != 0 {
		t.Errorf("before the rotation: revision %d", first.Revision)
	}
	calls := client.MembersOf(s.Plain())
	if _, err := calls.Rotate(t.Context(), "ca"); err != nil {
		t.Fatal(err)
	}
	answer := certified(t, agent)
	if list, err := trust.DecodeCertificates(answer.Authorities, trust.MaxAuthorities); answer.Revision != 1 || err != nil || len(list) != 2 {
		t.Errorf("the agent has got %d authorities at revision %d: %v", len(list), answer.Revision, err)
	}
	behind := func(want ...wire.Member) {
		t.Helper()
		if now, err := calls.Rotation(t.Context()); err != nil || !slices.Equal(now.Behind, want) || now.Missing != len(want) ||
			now.Members != 2 {
			t.Fatalf("%+v, %v; want %v", now, err, want)
		}
	}
	behind(wire.Member{Role: "node", Name: "n1"}, wire.Member{Role: "peer", Name: "p2"})
	if err := agent.ConfirmTrust(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	behind(wire.Member{Role: "peer", Name: "p2"})
	following := members.Following(s.API)
	if following.Newest() != 1 {
		t.Errorf("the newest revision is %d", following.Newest())
	}
	wake := following.Wake()
	if err := following.Confirm(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	behind()
	<-wake
	if err := s.AgentOf(nil).ConfirmTrust(t.Context(), 1); apitest.CodeOf(err) != wire.CodeUnauthenticated {
		t.Errorf("without a certificate: %v", err)
	}
}

// A peer gets secrets that it lacks from another.
func TestSecretsOfAnotherPeer(t *testing.T) {
	t.Parallel()
	s := apitest.NewSecured(t, apitest.New(t), forward.Leader{ID: "p2", Self: true, Address: "127.0.0.1:1"})
	second := apitest.NewSecured(t, s.Site, forward.Leader{ID: "p1", Address: s.Wired.Address})
	s.With(func(*statetest.Cluster) { s.First = second.Wired.Address })
	if _, err := client.MembersOf(s.Plain()).Rotate(t.Context(), "ca"); err != nil {
		t.Fatal(err)
	}
	fetched, err := members.FetchSecrets(s.API)(t.Context())
	if err != nil || len(fetched.Authorities) != 2 {
		t.Errorf("from the other peer: %+v, %v", fetched, err)
	}
	s.With(func(c *statetest.Cluster) {
		c.Do(&command.RevokeCertificate{Member: membership.Member{Role: model.RolePeer, Name: "p2"}})
	})
	if _, err := members.FetchSecrets(s.API)(t.Context()); err == nil || !strings.Contains(err.Error(), "is no member, or its certificate is revoked") {
		t.Errorf("secrets for a peer whose certificate is revoked, over a connection that is open: %v", err)
	}
	s.With(func(*statetest.Cluster) { s.First = "127.0.0.1:1" })
	if _, err := members.FetchSecrets(s.API)(t.Context()); err == nil {
		t.Error("secrets of no peer")
	}
}
