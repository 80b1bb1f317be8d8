package setup

import (
	"os"
	"path/filepath"
	"testing"
)

// A peer and an agent on one machine share its file of settings, and not the port of gossip.
func TestGossipPort(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text, section string
		want          int
	}{
		"an empty machine":       {"", "agent", 7002},
		"with a peer":            {"server: {gossip: \"10.0.0.1:7002\"}\n", "agent", 7003},
		"with an agent":          {"agent: {gossip: \"[fd00::1]:7002\"}\n", "server", 7003},
		"with a peer elsewhere":  {"server: {gossip: \"10.0.0.1:7300\"}\n", "agent", 7002},
		"without its own gossip": {"server: {http: \"10.0.0.1:10000\"}\n", "agent", 7002},
	} {
		path := filepath.Join(t.TempDir(), "berth.yaml")
		if c.text != "" {
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		f, err := readSettings(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.gossipPort(c.section); got != c.want {
			t.Errorf("%s: %d", name, got)
		}
	}
}
