package examine

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/cmd/internal/doctor"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// The roles of a machine are those that its settings describe.
func TestRolesOf(t *testing.T) {
	const server, agent = "server:\n  id: p1\n  data_dir: /x\n", "agent:\n  node: n1\n  data_dir: /y\n"
	for name, c := range map[string]struct {
		text    string
		environ []string
		want    []string
	}{
		"a peer":                 {server, nil, []string{rolePeer}},
		"a node":                 {agent, nil, []string{roleNode}},
		"both":                   {server + agent, nil, []string{rolePeer, roleNode}},
		"neither":                {"client:\n  address: [10.0.0.1:10000]\n", nil, []string{roleClient}},
		"by the environment":     {"", []string{"BERTH_AGENT_NODE=n1", "BERTH_AGENT_DATA_DIR=/y"}, []string{roleNode}},
		"with a wrong setting":   {server + "  level_hold: never\n", nil, []string{rolePeer}},
		"without a data folder":  {"server:\n  id: p1\n", nil, []string{roleClient}},
		"a file that is no YAML": {"\t:", nil, []string{roleClient}},
	} {
		file := filepath.Join(t.TempDir(), "berth.yaml")
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := rolesOf(file, c.environ); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if got := rolesOf(filepath.Join(t.TempDir(), "none.yaml"), nil); !slices.Equal(got, []string{roleClient}) {
		t.Errorf("without a file: %q", got)
	}
	if _, err := (&Finder{flags{role: "boss"}}).Find(); cmdline.ExitCode(err) != cmdline.ExitUsage {
		t.Errorf("an unknown role: %v", err)
	}
}

// berth becomes berthd for a machine that is a peer or a node, and examines that of a user itself.
func TestBecomes(t *testing.T) {
	errBecome := errors.New("becomes berthd")
	for role, want := range map[string]error{rolePeer: errBecome, roleNode: errBecome, roleClient: cmdline.ExitError(cmdline.ExitFailure)} {
		cmd := New(Program{Become: func() error { return errBecome }})
		var out strings.Builder
		cmd.SetOut(&out)
		cmd.SetErr(&out)
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetArgs([]string{"--role", role, "--address", "127.0.0.1:1"})
		if err := cmd.ExecuteContext(t.Context()); !errors.Is(err, want) {
			t.Errorf("%s: %v: %s", role, err, out.String())
		}
	}
}

// The clock of a peer is compared in the middle between question and answer; what is no peer is an error.
func TestGreet(t *testing.T) {
	ahead, version := 5*time.Second, "v1.2.3"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/healthz" && ahead != 0 {
			w.Header().Set(wire.HeaderTime, strconv.FormatInt(time.Now().Add(ahead).UnixMilli(), 10))
			w.Header().Set(wire.HeaderVersion, version)
		}
	}))
	defer server.Close()
	address := strings.TrimPrefix(server.URL, "http://")
	clock, got, err := Greet(t.Context(), cli.DialPlain, address)
	if off := (clock.Ahead - ahead).Abs(); err != nil || got != version || off > clock.Error {
		t.Errorf("%+v, %q, %v: off by %s", clock, got, err, off)
	}
	ahead = 0
	if _, _, err := Greet(t.Context(), cli.DialPlain, address); err == nil {
		t.Error("another program counts as a peer")
	}
	refuse := func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("closed") }
	if _, _, err := Greet(t.Context(), refuse, address); err == nil {
		t.Error("a closed port counts as a peer")
	}
	if result, detail := Judge(errors.New("closed")); result != doctor.Failed || detail != "closed" {
		t.Errorf("%s %s", result, detail)
	}
}
