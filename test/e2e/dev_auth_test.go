package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// berth dev --auth is ready with nodes, gives out a token of an admin, and takes the same one after a restart.
func TestDevWithAuthentication(t *testing.T) {
	t.Parallel()
	c := start(t, "--auth", "--peers", "1", "--nodes", "1", "--gpus", "2")
	token := func() string {
		text, err := os.ReadFile(filepath.Join(c.dir, "token"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(text))
	}
	whoami := func(token string) (*wire.Whoami, error) {
		api, err := client.New(client.Options{Addresses: c.addresses(), Token: token})
		if err != nil {
			t.Fatal(err)
		}
		return client.PeopleOf(api).Whoami(t.Context())
	}
	first := token()
	if me, err := whoami(first); err != nil || me.Role != "admin" || !me.Authentication {
		t.Fatalf("with the token of berth dev: %+v, %v", me, err)
	}
	if me, err := whoami(""); err == nil {
		t.Fatalf("without a token: %+v", me)
	}
	c.down()
	c.up()
	if again := token(); again != first {
		t.Errorf("after a restart the token is another one")
	}
	if me, err := whoami(first); err != nil || me.Role != "admin" {
		t.Errorf("after a restart: %+v, %v", me, err)
	}
}
