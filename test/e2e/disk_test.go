package e2e

import (
	"bytes"
	"encoding/base64"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// What a job runs with, and the secrets of webhooks, are in no file of a peer; environments are in no file of a node, and
// scripts and inputs only as long as the job runs. The peers hold the same key, outside of their data folders; one that has lost
// the key gets it from the others.
func TestADiskRevealsNoSecrets(t *testing.T) {
	t.Parallel()
	c := start(t, "--peers", "3", "--nodes", "1", "--gpus", "2")
	c.ready()
	const hook = "whsec_cGxhbnRlZC1ob29rcGxhbnRlZC1ob29rcGxhbnRlZA=="
	if _, err := c.api.Operator().Webhooks().Add(c.context(), &wire.SetWebhook{URL: "https://hooks.example.com/x", Secret: hook}); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	id := c.submit(&wire.Submit{
		Script: "#!/bin/sh\n# planted-script\necho $(($(printf %s \"$A$B\" | wc -c))) $(cat | wc -c) > " + folder + "/found\nuntil [ -e " + folder + "/end ]; do sleep 0.1; done\n",
		Stdin:  base64.StdEncoding.EncodeToString([]byte("planted-input")),
		Env:    map[string]string{"A": "planted-variable"}, Shell: map[string]string{"B": "planted-shell", "PATH": os.Getenv("PATH")}, GPUs: new(int64(1)),
	})
	c.running(id)
	c.until("the job has read its input", func() bool {
		got, _ := os.ReadFile(filepath.Join(folder, "found"))
		return string(got) == "29 13\n"
	})
	c.until("all peers have the job", func() bool { return together(c) })
	peers := []string{"p1", "p2", "p3"}
	everything := []string{"planted-script", "planted-input", "planted-variable", "planted-shell", "planted-hook", hook}
	for _, name := range peers {
		reveals(t, filepath.Join(c.dir, name), everything)
	}
	reveals(t, filepath.Join(c.dir, "node1"), []string{"planted-variable", "planted-shell", "planted-hook"})
	if err := os.WriteFile(filepath.Join(folder, "end"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c.ended(id)
	c.until("the node has put the job away", func() bool {
		left, _ := os.ReadDir(filepath.Join(c.dir, "node1", "attempts"))
		return len(left) == 0
	})
	reveals(t, filepath.Join(c.dir, "node1"), everything)
	key := sealingKey(t, c, "p1")
	for _, name := range peers[1:] {
		if other := sealingKey(t, c, name); !bytes.Equal(other, key) {
			t.Errorf("%s has another key than p1", name)
		}
	}
	lose(t, c, "p2", key)
}

// sealingKey returns the file of keys of a peer.
func sealingKey(t *testing.T, c *cluster, name string) []byte {
	t.Helper()
	key, err := os.ReadFile(filepath.Join(c.dir, name+".secrets", "sealing.key"))
	if err != nil || len(key) != 65 {
		t.Fatalf("the file of %s has %d bytes: %v", name, len(key), err)
	}
	return key
}

// lose takes the keys of a peer away, which has them again after its next start.
func lose(t *testing.T, c *cluster, name string, key []byte) {
	t.Helper()
	file := filepath.Join(c.dir, name+".secrets", "sealing.key")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	c.kill(name)
	c.until(name+" has the key again", func() bool {
		got, err := os.ReadFile(file)
		return err == nil && bytes.Equal(got, key)
	})
}

// reveals fails the test for each text that a file below a folder contains, as it is or as base64.
func reveals(t *testing.T, folder string, texts []string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || d.Name() == "ballast" {
			return nil //nolint:nilerr // a file that is gone by now reveals nothing
		}
		data, err := os.ReadFile(path) //nolint:gosec // of the test's own folder
		if err != nil {
			return nil //nolint:nilerr // as above
		}
		files++
		for _, text := range texts {
			for _, form := range forms(text) {
				if bytes.Contains(data, []byte(form)) {
					t.Errorf("%s contains %s", path, text)
					break
				}
			}
		}
		return nil
	})
	if err != nil || files == 0 {
		t.Errorf("%d files below %s: %v", files, folder, err)
	}
}

// forms returns a text as it is, and the base64 of it at each of the three places that it may have in a longer text.
func forms(text string) []string {
	out := []string{text}
	for pad := range 3 {
		encoded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", pad) + text))
		out = append(out, strings.TrimRight(encoded[(pad*4+2)/3:len(encoded)-4], "="))
	}
	return out
}
