package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// bundled is an unpacked support bundle.
type bundled struct {
	raw   []byte
	files map[string]string // by name, without the folder
	all   manifest
}

// manifest is manifest.json.
type manifest struct {
	Files []struct {
		Name   string
		SHA256 string
	}
	Left []struct{ What, Why string } `json:"left_out"`
}

// unpack reads a bundle, and compares its files with its manifest.
func unpack(t *testing.T, raw []byte) *bundled {
	t.Helper()
	b := &bundled{raw: raw, files: map[string]string{}}
	zip, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	for list := tar.NewReader(zip); ; {
		head, err := list.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(list)
		if err != nil || head.Mode != 0o600 {
			t.Errorf("%s: mode %o, %v", head.Name, head.Mode, err)
		}
		_, name, _ := strings.Cut(head.Name, "/")
		b.files[name] = string(text)
	}
	if err := json.Unmarshal([]byte(b.files["manifest.json"]), &b.all); err != nil {
		t.Fatal(err)
	}
	for _, f := range b.all.Files {
		sum := sha256.Sum256([]byte(b.files[f.Name]))
		if text, there := b.files[f.Name]; !there || hex.EncodeToString(sum[:]) != f.SHA256 || text == "" {
			t.Errorf("%s is not as the manifest says", f.Name)
		}
	}
	if len(b.files) != len(b.all.Files)+1 {
		t.Errorf("%d files, and the manifest lists %d", len(b.files), len(b.all.Files))
	}
	return b
}

// forms returns a secret in the forms in which it may be written, in base64 wherever in a longer text it stands.
func forms(secret string) []string {
	out := []string{secret, hex.EncodeToString([]byte(secret)), strings.ToUpper(hex.EncodeToString([]byte(secret)))}
	for skip := range 3 {
		for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			rest := secret[skip:]
			out = append(out, e.EncodeToString([]byte(rest[:len(rest)/3*3])))
		}
	}
	return out
}

// leaks reports an error for each secret that is in a bundle.
func (b *bundled) leaks(t *testing.T, secrets map[string]string) {
	t.Helper()
	for kind, secret := range secrets { // order-free: each by itself
		if len(secret) < 12 {
			t.Fatalf("%s: %q is no secret to look for", kind, secret)
		}
		for _, form := range forms(secret) {
			if bytes.Contains(b.raw, []byte(form)) {
				t.Errorf("%s is in the compressed file", kind)
			}
			for name, text := range b.files { // order-free: each by itself
				if at := strings.Index(text, form); at >= 0 {
					t.Errorf("%s is in %s: ...%s...", kind, name, text[max(0, at-60):min(len(text), at+len(form)+20)])
				}
			}
		}
	}
}

// plant puts secrets of every kind into a running cluster, the settings and the log of its first peer, and returns them.
func (l *lab) plant(t *testing.T) map[string]string {
	t.Helper()
	m, err := l.machine("p1")
	if err != nil {
		t.Fatal(err)
	}
	word := func(pattern, text string) string {
		found := regexp.MustCompile(pattern).FindString(text)
		if found == "" {
			t.Fatalf("%s is not in %s", pattern, text)
		}
		return found
	}
	out := map[string]string{ //nolint:gosec // of no system
		"a key of the API":           "fixed-key-of-a-service-4711",
		"a password in a setting":    "pw-of-the-adviser-0815",
		"a query of a setting":       "query-of-the-adviser-99",
		"the environment of a job":   "value-in-the-environment-12",
		"the script of a job":        "word-in-the-command-of-a-job-34",
		"the path of a webhook":      "T00000000B00000000aBcDeFgHiJ",
		"the query of a webhook":     "token-of-the-webhook-5678",
		"an identity of age":         "AGE-SECRET-KEY-1QQPQQYZGRFDN4Y7LSZ8HFJ2WCGX5T3DKEMA0V9UQQPQQYZGRFDN4Y7LSZ8",
		"a variable of a log":        "hf_AbCdEfGhIjKlMnOpQrStUvWx",
		"a header of a log":          "dXNlcjpwYXNzd29yZC1pbi1hLWhlYWRlcg",
		"a password in a URL":        "pw-in-a-url-of-the-log-77",
		"a token of the environment": "berth_" + base64.RawURLEncoding.EncodeToString(bytes.Repeat([]byte{0xa7, 0x31, 0x5c}, 11))[:43],
	}
	out["a user's token"] = word(`berth_[0-9A-Za-z_-]{43}`, l.ok(t, "p1", "berth token create --user ann --role user 2>&1"))
	out["a join token"] = strings.TrimSpace(l.ok(t, "p1", "berth token join node 2>/dev/null"))
	hook := "berth webhook add 'https://93.184.215.14/services/" + out["the path of a webhook"] + "?token=" + out["the query of a webhook"] + "' --event failed 2>&1"
	out["the secret of a webhook"] = word(`whsec_[0-9A-Za-z+/=]+`, l.ok(t, "p1", hook+" || "+strings.Replace(hook, "berth webhook add", "berth webhook add --user ann", 1)))
	l.ok(t, "laptop", "berth submit -g 1 -e HF_TOKEN="+out["the environment of a job"]+" -- sh -c 'echo "+out["the script of a job"]+"; sleep 600'")
	trust := filepath.Join(m.dir, "lib", "server", "trust")
	key := read(t, filepath.Join(trust, "identity.pem"))
	authority := read(t, filepath.Join(trust, "authority.key"))
	out["the key of the machine"], out["the key of the authority"] = strings.Split(key, "\n")[1], strings.Split(authority, "\n")[1]
	settings := filepath.Join(m.dir, "etc", "berth.yaml")
	text := read(t, settings) + "\nauth:\n  enabled: true\n  api_keys:\n    " + out["a key of the API"] + ": web\nservices:\n  deepagents_url: https://ann:" +
		out["a password in a setting"] + "@advice.example/x?key=" + out["a query of a setting"] + "\n"
	if strings.Contains(read(t, settings), "\nauth:") {
		text = strings.Replace(read(t, settings), "\nauth:", "\nauth:\n  api_keys:\n    "+out["a key of the API"]+": web", 1) + "\nservices:\n  deepagents_url: https://ann:" +
			out["a password in a setting"] + "@advice.example/x?key=" + out["a query of a setting"] + "\n"
	}
	log := "time=1 msg=starts\nexport HF_TOKEN=" + out["a variable of a log"] + "\nAuthorization: Basic " + out["a header of a log"] + "\ndial postgres://ann:" + out["a password in a URL"] +
		"@db/jobs\n" + key + authority + "\n"
	for kind, secret := range out { // order-free: each is in the log once more
		if kind != "the environment of a job" && kind != "the script of a job" && kind != "a password in a setting" && kind != "a query of a setting" &&
			!strings.HasSuffix(kind, "of a webhook") && !strings.Contains(kind, "of a log") && !strings.Contains(kind, "URL") && !strings.HasPrefix(kind, "the key of") {
			log += "time=2 msg=\"" + secret + "\" base64=" + base64.StdEncoding.EncodeToString([]byte("x"+secret)) + "\n"
		}
	}
	log += "posts to https://93.184.215.14/hooks/" + out["the path of a webhook"] + "?token=" + out["the query of a webhook"] + " signed " + out["the secret of a webhook"] + "\n"
	for name, text := range map[string]string{settings: text, filepath.Join(m.dir, "etc", "planted.log"): log} { // order-free: each by itself
		if err := errors.Join(os.WriteFile(name, []byte(text), 0o600), os.Chmod(name, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A support bundle of a real cluster holds none of the secrets that were planted in it, is readable by its owner only, and lists what it
// holds and what it does not; it is made while the cluster is down, too.
func TestSupportBundle(t *testing.T) {
	steps, err := quickStart("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	l := startLab(t, plan())
	if err := l.follow(t.Context(), steps, func(step, string) {}); err != nil {
		t.Fatal(err)
	}
	secrets := l.plant(t)
	p1, err := l.machine("p1")
	if err != nil {
		t.Fatal(err)
	}
	ask := "BERTH_TOKEN=" + secrets["a token of the environment"] + " berth support-bundle --log /etc/berth/planted.log --address unix:/var/lib/berth/server/admin.sock"
	said := l.ok(t, "p1", "unset BERTH_TOKEN; "+strings.Replace(ask, "BERTH_TOKEN="+secrets["a token of the environment"]+" ", "", 1)+" -o /etc/berth/first.tar.gz")
	if info, err := os.Stat(filepath.Join(p1.dir, "etc", "first.tar.gz")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info, err)
	}
	if !strings.Contains(said, "Look at it before you send it") || !strings.Contains(said, "cluster/peers.json") || !strings.Contains(said, "left out: jobs:") {
		t.Errorf("it says\n%s", said)
	}
	b := unpack(t, []byte(read(t, filepath.Join(p1.dir, "etc", "first.tar.gz"))))
	b.leaks(t, secrets)
	for _, name := range []string{
		"version.txt", "doctor.json", "settings-peer.txt", "certificates-peer.txt", "files-peer.txt", "cluster/peers.json", "cluster/nodes.json", "cluster/upgrade.json",
		"cluster/rotation.json", "cluster/statistics.json", "cluster/settings.json", "cluster/metrics.txt", "system/kernel.txt", "system/mounts.txt", "logs/1-planted.log",
		"profiles/goroutines.txt", "profiles/heap.txt", "profiles/mutex.pprof", "profiles/cpu.pprof",
	} {
		if b.files[name] == "" {
			t.Errorf("%s is missing: %v", name, b.all.Left)
		}
	}
	for name, part := range map[string]string{ // order-free: each by itself
		"settings-peer.txt": "auth.api_keys: (secret)", "files-peer.txt": "trust/authority.key", "certificates-peer.txt": "BEGIN CERTIFICATE", "cluster/metrics.txt": "berth_gossip_members",
		"logs/1-planted.log": "time=1 msg=starts", "doctor.json": `"check": "ports"`,
	} {
		if !strings.Contains(b.files[name], part) {
			t.Errorf("%s does not hold %q:\n%.2000s", name, part, b.files[name])
		}
	}
	if out, err := l.do(t, "p1", ask+" -o /etc/berth/first.tar.gz"); err == nil || !strings.Contains(out, "exists already") {
		t.Errorf("a file that is there: %v: %s", err, out)
	}
	l.bundleOfADownPeer(t, p1, ask, secrets)
}

// bundleOfADownPeer makes a bundle, to standard output, while no peer runs; and one on a node.
func (l *lab) bundleOfADownPeer(t *testing.T, p1 *machine, ask string, secrets map[string]string) {
	t.Helper()
	for _, name := range []string{"p1", "p2", "p3"} {
		l.ok(t, name, "systemctl stop berth-server.service")
	}
	l.ok(t, "p1", ask+" -o - > /etc/berth/second.tar.gz")
	b := unpack(t, []byte(read(t, filepath.Join(p1.dir, "etc", "second.tar.gz"))))
	b.leaks(t, secrets)
	left := func(what string) bool {
		return slices.ContainsFunc(b.all.Left, func(v struct{ What, Why string }) bool { return v.What == what && v.Why != "" })
	}
	if !left("cluster/peers.json") || b.files["settings-peer.txt"] == "" || !strings.Contains(b.files["doctor.json"], `"result": "fault"`) {
		t.Errorf("while the cluster is down: %v", b.all.Left)
	}
	l.ok(t, "gpu1", "berth support-bundle -o /etc/berth/node.tar.gz")
	gpu1, err := l.machine("gpu1")
	if err != nil {
		t.Fatal(err)
	}
	b = unpack(t, []byte(read(t, filepath.Join(gpu1.dir, "etc", "node.tar.gz"))))
	b.leaks(t, secrets)
	if b.files["gpus.txt"] == "" || !strings.Contains(b.files["files-node.txt"], "trust/identity.pem") {
		t.Errorf("of a node: %v", b.all)
	}
}
