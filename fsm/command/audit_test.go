package command

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/membership"
)

// The address that a request came from travels with its command, and a command
// without one is encoded as it ever was.
func TestFromClient(t *testing.T) {
	c, err := New("user:alice", &SetRunning{Running: true})
	if err != nil {
		t.Fatal(err)
	}
	plain := c.Size()
	for _, bad := range []string{"", "not an address", "host:80", strings.Repeat("1", 80), "fe80::1%" + strings.Repeat("e", 64)} {
		if got := c.FromClient(bad); got.From != "" || got.Size() != plain {
			t.Errorf("%q was taken for an address", bad)
		}
	}
	for _, good := range []string{"192.0.2.7", "2001:db8::1"} {
		from := c.FromClient(good)
		data, err := Encode(1_790_000_000_000_000_000, "p1", []Command{from})
		if err != nil || from.Size() != plain+len(good) {
			t.Fatalf("%s: %v, size %d", good, err, from.Size())
		}
		e, err := Decode(data)
		if err != nil || e.Commands[0].Err != nil || e.Commands[0].From != good {
			t.Errorf("%s came back as %+v: %v", good, e.Commands, err)
		}
		if good == "192.0.2.7" {
			golden(t, filepath.Join("testdata", "golden", "from.txt"), data)
		}
	}
	bad := envelopes(t, envelope{Kind: uint16(KindResume), Body: []byte{0xa0}, From: "two\nlines"})
	if e, err := Decode(bad); err != nil || e.Commands[0].Err == nil {
		t.Errorf("a forged address gave %v", err)
	}
}

// Every kind has a target, and its shown body decodes again; none shows a job's command or environment.
func TestAuditOfEveryKind(t *testing.T) {
	silent := map[Kind]bool{
		KindRenew: true, KindReport: true, KindInventory: true, KindAdvanceClock: true, KindSteer: true,
		KindMarkDeliveries: true, KindNearLimit: true, KindConfirmTrust: true, KindRenewSession: true,
	}
	for _, b := range examples() {
		c, err := New("user:alice", b)
		if err != nil {
			t.Fatal(err)
		}
		if c.Kind().Audited() == silent[c.Kind()] {
			t.Errorf("%s is audited: %v", c.Kind(), c.Kind().Audited())
		}
		if target := c.Target(); target == "job 0" || strings.HasSuffix(target, " ") || strings.HasPrefix(target, " ") {
			t.Errorf("%s is about %q", c.Kind(), target)
		}
		if shown := c.Shown(); shown != nil {
			if back, err := ShownBody(c.Kind(), shown); err != nil || back.Kind() != c.Kind() {
				t.Errorf("what is shown of %s: %v", c.Kind(), err)
			}
		}
	}
	for _, k := range []Kind{KindSubmit, KindAllocate, KindRegister} {
		if k.shown() {
			t.Errorf("the trail repeats what a %s says", k)
		}
	}
	if _, err := ShownBody(60_000, nil); err == nil {
		t.Error("an unknown kind was read")
	}
}

// The trail names the users as targets.
func TestTargetsOfPeople(t *testing.T) {
	hash := model.Hash{0xab, 0xcd}
	for want, b := range map[string]Body{
		"user alice":          &MakeToken{Hash: hash, User: "alice", Role: model.RoleUser},
		"node n1":             &MakeToken{Hash: hash, User: "n1", Role: model.RoleAgent, Expires: 1},
		"user bob":            &SetUser{User: "bob", Role: model.RoleUser},
		"user eve":            &RemoveUser{User: "eve"},
		"import abcd00000000": &EndImport{ID: hash},
		"peer p4": &RecordCertificate{
			Member: membership.Member{Role: model.RolePeer, Name: "p4"}, Serial: "0a", Key: hash, Issued: 1,
			Expires: 2,
		},
		"leaf":                              &BeginRotation{Rotation: membership.RotationLeaf},
		"node gpu4":                         &RevokeCertificate{Member: membership.Member{Role: model.RoleAgent, Name: "gpu4"}},
		"token abcd000000000000":            &DropTokens{Tokens: []model.Hash{hash}},
		"token abcd000000000000 and 1 more": &DropTokens{Tokens: []model.Hash{hash, {1}}},
		"token abcd0000000000ff":            &MakeSession{Hash: model.Hash{1}, From: model.Hash{0: 0xab, 1: 0xcd, 7: 0xff}},
		"session abcd000000000000":          &RenewSession{Hash: hash},
		"service web":                       &Allocate{Service: "web", User: "alice", Class: 2, GPUs: 1},
		"allocation web-1":                  &Allocate{ID: "web-1", Service: "web", User: "alice", Class: 2, GPUs: 1},
	} {
		c, err := New("user:root", b)
		if err != nil || c.Target() != want {
			t.Errorf("%T is about %q, want %q; %v", b, c.Target(), want, err)
		}
	}
}
