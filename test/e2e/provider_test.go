package e2e

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/test/internal/dex"
)

// provider is the identity provider dex with one user, alice.
type provider struct {
	t       *testing.T
	program string
	address string
	file    string
	stop    func()
}

// startProvider builds and starts the provider.
func startProvider(t *testing.T, groups ...string) *provider {
	t.Helper()
	program, err := dex.Program(t.Context(), filepath.Join("..", "internal", "dex"))
	if errors.Is(err, dex.ErrNoSources) {
		t.Skip("needs the modules of dex: " + err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	p := &provider{t: t, program: program, address: freeAddress(t), file: filepath.Join(t.TempDir(), "users.json")}
	p.start(groups...)
	t.Cleanup(func() { p.stop() })
	return p
}

func (p *provider) issuer() string { return "http://" + p.address + "/dex" }

// start starts the provider with the groups of alice, and with other keys than before.
func (p *provider) start(groups ...string) {
	p.t.Helper()
	text, err := json.Marshal([]map[string]any{{"id": "u-1", "email": "alice@example.org", "name": "alice", "password": "pw-of-alice", "groups": groups}})
	if err == nil {
		err = os.WriteFile(p.file, text, 0o600)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	cmd := exec.Command(p.program, p.address, p.file)
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.stop = func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }
	waitFor(p.t, "the provider answers", func() bool {
		got, err := http.Get(p.issuer() + "/keys")
		if err != nil {
			return false
		}
		_ = got.Body.Close()
		return got.StatusCode == http.StatusOK
	})
}

// token returns an ID token of alice.
func (p *provider) token() string {
	p.t.Helper()
	got, err := http.PostForm(p.issuer()+"/token", url.Values{
		"grant_type": {"password"}, "client_id": {"berth"}, "username": {"alice@example.org"}, "password": {"pw-of-alice"}, "scope": {"openid profile email groups"},
	})
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = got.Body.Close() }()
	var out struct {
		IDToken string `json:"id_token"`
	}
	if err := json.NewDecoder(got.Body).Decode(&out); err != nil || out.IDToken == "" {
		p.t.Fatalf("the provider issues no token: %d, %v", got.StatusCode, err)
	}
	return out.IDToken
}

// browse signs alice in with a browser, as the command says.
func (p *provider) browse(at, code string) {
	p.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		p.t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	page := func(got *http.Response, err error) (string, *url.URL) {
		p.t.Helper()
		if err != nil {
			p.t.Fatal(err)
		}
		defer func() { _ = got.Body.Close() }()
		text, err := io.ReadAll(got.Body)
		if err != nil || got.StatusCode != http.StatusOK {
			p.t.Fatalf("%s answers with %d, %v: %s", got.Request.URL, got.StatusCode, err, text)
		}
		return string(text), got.Request.URL
	}
	page(browser.Get(at))
	_, form := page(browser.PostForm(p.issuer()+"/device/auth/verify_code", url.Values{"user_code": {code}}))
	text, _ := page(browser.PostForm(form.String(), url.Values{"login": {"alice@example.org"}, "password": {"pw-of-alice"}}))
	if !strings.Contains(text, "Successful") {
		p.t.Errorf("the provider ends with the page %s", text)
	}
}

// login runs berth login with arguments, and signs alice in.
func (p *provider) login(home string, args ...string) string {
	p.t.Helper()
	cmd := exec.Command(program(), append([]string{"login"}, args...)...)
	cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+home)
	out, err := cmd.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	errs := &strings.Builder{}
	cmd.Stderr = errs
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	var said strings.Builder
	at, mustBe := regexp.MustCompile(`^  (http://\S+)$`), regexp.MustCompile(`code there must be (\S+)\.`)
	address := ""
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said.WriteString(lines.Text() + "\n")
		if m := at.FindStringSubmatch(lines.Text()); m != nil {
			address = m[1]
		}
		if m := mustBe.FindStringSubmatch(lines.Text()); m != nil {
			p.browse(address, m[1])
		}
	}
	if err := cmd.Wait(); err != nil {
		p.t.Fatalf("berth login %s: %v\n%s%s", strings.Join(args, " "), err, &said, errs)
	}
	return said.String()
}

// A user signs in at a real provider, works, and has fewer rights once the provider has taken a group.
func TestSignInAtAProvider(t *testing.T) {
	if testing.Short() {
		t.Skip("needs the program of dex, whose build takes two minutes")
	}
	t.Parallel()
	p := startProvider(t, "ml", "staff")
	file := filepath.Join(t.TempDir(), "berth.yaml")
	text := fmt.Sprintf("oidc:\n  issuer: %s\n  client_id: berth\n  groups:\n    ml: {role: user, projects: [vision]}\n    staff: viewer\n", p.issuer())
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	g := startGuarded(t, "--config", file)
	at := g.follower()
	var first string
	select {
	case first = <-g.first:
	case <-time.After(patience):
		t.Fatal("no first token was printed")
	}
	admin := g.ok(first, at, "token", "create", "--user", "root", "--role", "admin")
	g.run("n1", "agent", "--node", "n1", "--data-dir", filepath.Join(g.dir, "n1"), "--gpus", "sim:2", "--peers", at, "--shared-account")

	home := t.TempDir()
	if out := p.login(home, "lab", "--address", at, "--oidc"); !strings.Contains(out, "as alice with the role user, until ") {
		t.Errorf("login says %s", out)
	}
	run := func(args ...string) said {
		t.Helper()
		return g.with([]string{"XDG_CONFIG_HOME=" + home}, args...)
	}
	if s := run("whoami"); s.code != 0 || !strings.Contains(s.out, "user:alice, role user, token expires ") || !strings.Contains(s.out, "vision") {
		t.Errorf("whoami: exit code %d, %s%s", s.code, s.out, s.err)
	}
	if s := run("run", "-g", "1", "--project", "vision", "--", "true"); s.code != 0 {
		t.Errorf("a job: exit code %d, %s%s", s.code, s.out, s.err)
	}
	if s := g.berth(p.token(), at, "submit", "-g", "1", "--", "true"); s.code != 0 { // through a follower
		t.Errorf("a job with a token of the provider: exit code %d, %s%s", s.code, s.out, s.err)
	}

	p.stop()
	p.start("staff")
	lowered := p.token()
	for _, api := range g.apis {
		waitFor(t, "the peer has the provider's next key", func() bool { return g.berth(lowered, api, "whoami").code == 0 })
	}
	if s := run("submit", "-g", "1", "--", "true"); s.code != 4 {
		t.Errorf("a job without the group: exit code %d, %s%s", s.code, s.out, s.err)
	}
	if out := p.login(home, "lab", "--oidc"); !strings.Contains(out, "as alice with the role viewer") {
		t.Errorf("login says %s", out)
	}
	if list := g.ok(admin, at, "token", "list"); strings.Count(list, "oidc ") != 1 {
		t.Errorf("the token of the former sign-in is there still:\n%s", list)
	}
}
