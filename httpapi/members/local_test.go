package members_test

import (
	"context"
	"net"
	"path/filepath"
	"testing"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/forward"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/trust"
)

// Over the socket of a peer, root is an admin without a token, through a follower, too; a token that is sent counts in its
// place, and over the network nothing changes.
func TestRootOverTheSocket(t *testing.T) {
	t.Parallel()
	lead := apitest.NewGuarded(t)
	for name, s := range map[string]*apitest.Secured{
		"leader":   apitest.NewSecured(t, lead, forward.Leader{ID: "p2", Self: true, Address: "127.0.0.1:1"}),
		"follower": apitest.NewSecured(t, lead, forward.Leader{ID: "p1", Address: lead.Wired.Address}),
	} {
		path := filepath.Join(t.TempDir(), "s")
		l, err := trust.ListenLocal(path)
		if err != nil {
			t.Fatal(err)
		}
		go func() { _ = s.API.Serve(l) }() // until the API is shut down
		as := func(token string) *client.Client {
			c, err := client.New(client.Options{Addresses: []string{"localhost:1"}, Token: token, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, "unix", path)
			}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(c.Close)
			return c
		}
		if who, err := client.PeopleOf(as("")).Whoami(t.Context()); err != nil || who.Role != "admin" || who.Actor != "local:root" {
			t.Errorf("%s: root is %+v, %v", name, who, err)
		}
		if _, err := client.PeopleOf(as("")).MakeToken(t.Context(), &wire.MakeToken{User: "zoe-" + name, Role: "user"}); err != nil {
			t.Errorf("%s: root makes a token: %v", name, err)
		}
		if _, err := client.PeopleOf(as(apitest.Ann)).MakeToken(t.Context(),
			&wire.MakeToken{User: "zoe", Role: "user"}); apitest.CodeOf(err) != model.CodeDenied.String() {
			t.Errorf("%s: with a user's token: %v", name, err)
		}
		if _, err := client.PeopleOf(s.Plain()).MakeToken(t.Context(),
			&wire.MakeToken{User: "zoe", Role: "user"}); apitest.CodeOf(err) != wire.CodeUnauthenticated {
			t.Errorf("%s: over the network: %v", name, err)
		}
	}
}
