package e2e

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// rogue runs a server of its own over a data folder with the given certificate, which tries to join the cluster, and
// returns its log once the peer that it asks has refused it.
func rogue(t *testing.T, c *cluster, data string) {
	t.Helper()
	leader := c.member(c.leader())
	cmd := exec.Command(program(), "server", "--data-dir", data, "--id", "rogue", "--listen", freeAddress(t), "--http", freeAddress(t),
		"--join", leader.Raft, "--min-free", "1")
	log := &bytes.Buffer{}
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { _ = cmd.Wait(); close(done) }()
	refused := func() int {
		text, err := os.ReadFile(leader.Log)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(text), "connection refused")
	}
	before := refused()
	c.until("the rogue was refused, or has ended", func() bool {
		select {
		case <-done:
			return true
		default:
			return refused() > before
		}
	})
	_ = cmd.Process.Kill()
	<-done
	if strings.Contains(log.String(), "this peer is a member") {
		t.Errorf("it is a member:\n%s", log)
	}
}

// A process on a peer's own machine that has no certificate of a peer cannot join, read histories, stop the cluster or
// read output from agents, whatever certificate it has.
func TestStrangersAreRefused(t *testing.T) {
	c := start(t, "--nodes", "1", "--gpus", "1")
	c.ready()
	id := c.submit(&wire.Submit{Command: "echo secret; sleep 600"})
	c.running(id)

	own := filepath.Join(t.TempDir(), "own") // a cluster of its own
	if out, err := exec.Command(program(), "init", "--no-config", "--advertise", "127.0.0.1", "--id", "rogue", "--data-dir", own).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	rogue(t, c, own)
	stolen := filepath.Join(t.TempDir(), "stolen") // the certificate of a node, as a job that has become root could take it
	if err := os.CopyFS(filepath.Join(stolen, "trust"), os.DirFS(filepath.Join(c.dir, "node1", "trust"))); err != nil {
		t.Fatal(err)
	}
	rogue(t, c, stolen)

	for _, m := range c.members() {
		address := m.Raft // of a peer: calls and Raft in plain text
		if m.Role != "server" {
			address = m.Address
		}
		for _, hello := range []string{"C\x00\x00\x00\x02\x00\x00\x00\x00\x01p", "R\x00", "GET /node/logs?job=" + id + "&task=0&attempt=1&rank=0&stream=stdout HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"} {
			if got := answerTo(t, address, hello); strings.Contains(got, "secret") || strings.Contains(got, "200 OK") || strings.Contains(got, "{") {
				t.Errorf("%s answers %q with %q", m.Name, hello, got)
			}
		}
	}
	peers, err := c.api.Peers(c.context())
	if err != nil || len(peers.Peers) != 3 {
		t.Errorf("the peers are %+v, %v", peers, err)
	}
	if d := c.job(id); d.State != "running" {
		t.Errorf("the job is %s", d.State)
	}
}

// answerTo returns what a port sends before it closes the connection.
func answerTo(t *testing.T, address, hello string) string {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, hello+strings.Repeat("\x00", 64)); err != nil {
		return ""
	}
	got, _ := io.ReadAll(conn) // a reset is an answer, too
	return string(got)
}

// An agent sends nothing to a program that has taken the port of a peer that is down: the program sees the beginning of a
// handshake, and has no certificate to go on with.
func TestThePortOfADeadPeer(t *testing.T) {
	g := startPeers(t, "2160h")
	at := g.follower()
	fake, err := net.Listen("tcp", freeAddress(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = fake.Close() }()
	got := make(chan []byte, 1)
	go func() {
		conn, err := fake.Accept()
		if err != nil {
			return
		}
		_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
		first := make([]byte, 4096)
		n, _ := conn.Read(first)
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		rest, _ := io.ReadAll(conn)
		got <- append(first[:n], rest...)
		_ = conn.Close()
	}()
	g.run("n1", "agent", "--node", "n1", "--data-dir", filepath.Join(g.dir, "n1"), "--gpus", "sim:1", "--shared-account", "--peers", fake.Addr().String()+","+at)
	select {
	case sent := <-got:
		if len(sent) == 0 || sent[0] != 22 || bytes.Contains(sent, []byte("HTTP")) || bytes.Contains(sent, []byte("/agent/")) {
			t.Errorf("the agent sent %q", sent)
		}
	case <-time.After(patience):
		t.Error("the agent did not ask the first peer")
	}
	waitFor(t, "the node is there", func() bool { return strings.Contains(g.berth("", at, "nodes").out, "n1") })
}

// Certificates of some seconds are renewed again and again under load, while jobs run and requests are carried out.
func TestCertificatesAreRenewedUnderLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some lives of a certificate")
	}
	const life = 20 * time.Second
	g := startPeers(t, life.String())
	at := g.follower()
	g.run("n1", "agent", "--node", "n1", "--data-dir", filepath.Join(g.dir, "n1"), "--gpus", "sim:4", "--shared-account", "--peers", strings.Join(g.apis, ","))
	waitFor(t, "the node is there", func() bool { return strings.Contains(g.berth("", at, "nodes").out, "up") })
	api, err := client.New(client.Options{Addresses: g.apis})
	if err != nil {
		t.Fatal(err)
	}
	defer api.Close()
	long, err := api.Submit(t.Context(), &wire.Submit{Command: "sleep 600"}, "")
	if err != nil {
		t.Fatal(err)
	}
	serials := map[string]bool{}
	ctx, stop := context.WithTimeout(t.Context(), 4*life)
	defer stop()
	sent := 0
	for ctx.Err() == nil {
		if _, err := api.Submit(t.Context(), &wire.Submit{Command: "true"}, ""); err != nil {
			t.Fatalf("submission %d: %v", sent, err)
		}
		sent++
		if sent%50 == 0 {
			out, err := exec.Command(program(), "cert", "show", filepath.Join(g.dir, "n1")).CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			_, serial, _ := strings.Cut(string(out), "serial")
			serial, _, _ = strings.Cut(serial, "\n")
			serials[strings.TrimSpace(serial)] = true
		}
	}
	d, _, err := api.Job(t.Context(), long.JobID, client.JobQuery{})
	if err != nil || d.State != "running" || d.Attempts != 1 {
		t.Errorf("the long job is %+v, %v", d, err)
	}
	if len(serials) < 4 {
		t.Errorf("the agent had %d certificates in %s", len(serials), 4*life)
	}
	t.Logf("%d submissions, %d certificates of the agent", sent, len(serials))
}

// A node that was off until after the end of its certificate says so in one line: only peers have the key by which they extend theirs.
func TestAnExpiredCertificate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	founder, data := filepath.Join(dir, "p1"), filepath.Join(dir, "n1")
	if out, err := exec.Command(program(), "init", "--no-config", "--advertise", "127.0.0.1", "--id", "p1", "--data-dir", founder).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	certify(t, founder, "node", "n1", data, "--life", "10s")
	waitFor(t, "the end of the certificate", func() bool {
		out, err := exec.Command(program(), "cert", "show", data).CombinedOutput()
		return err == nil && bytes.Contains(out, []byte("expired"))
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program(), "agent", "--node", "n1", "--data-dir", data, "--gpus", "sim:1", "--listen", freeAddress(t), "--peers", freeAddress(t))
	said, err := cmd.CombinedOutput()
	if err == nil || !bytes.Contains(said, []byte("expired at")) || bytes.Count(said, []byte("\n")) != 1 {
		t.Errorf("%v: %s", err, said)
	}
}

// Plain text is refused where another machine could read the request: the answer says what to do, and nothing is done.
func TestPlainTextBeyondLoopback(t *testing.T) {
	host := ownAddress(t)
	data := filepath.Join(t.TempDir(), "p1")
	if out, err := exec.Command(program(), "init", "--no-config", "--advertise", "127.0.0.1", "--id", "p1", "--data-dir", data).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	_, port, err := net.SplitHostPort(freeAddress(t))
	if err != nil {
		t.Fatal(err)
	}
	api := net.JoinHostPort(host, port)
	raft := freeAddress(t)
	g := &guarded{t: t, first: make(chan string, 1)}
	g.run("p1", "server", "--data-dir", data, "--id", "p1", "--listen", raft, "--http", api, "--bootstrap", "p1="+raft, "--auth", "--min-free", "1",
		"--public-url", "https://berth.example.org/")
	var text string
	waitFor(t, "an answer", func() bool {
		answer, err := http.Get("http://" + api + "/healthz")
		if err != nil {
			return false
		}
		body, _ := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		text = string(body)
		return true
	})
	if !strings.Contains(text, "https") {
		t.Errorf("plain text is answered %q", text)
	}
	if s := g.berth("x", api, "queue"); s.code != 2 || !strings.Contains(s.err, "berth cert authority") {
		t.Errorf("a command without the authority: exit code %d, %s", s.code, s.err)
	}
	authority := filepath.Join(t.TempDir(), "authority.pem")
	if err := os.WriteFile(authority, []byte(g.ok("", "", "cert", "authority", data)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	first := <-g.first
	admin := g.ok(first, api, "token", "create", "--user", "root", "--role", "admin", "--authority", authority)
	if peers := g.ok(admin, api, "peers", "--authority", authority, "-o", "json"); !strings.Contains(peers, `"public_url": "https://berth.example.org"`) {
		t.Errorf("the peers are %s", peers)
	}
}

// ownAddress returns an address of this machine that other machines could reach.
func ownAddress(t *testing.T) string {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if n, is := a.(*net.IPNet); is && n.IP.IsGlobalUnicast() && n.IP.To4() != nil {
			return n.IP.String()
		}
	}
	t.Skip("this machine has loopback addresses only")
	return ""
}
