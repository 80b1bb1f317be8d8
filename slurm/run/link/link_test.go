package link

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/slurm/jobfile"
)

// TestFrames checks that frames arrive as they were sent, and that too large ones are refused.
func TestFrames(t *testing.T) {
	t.Parallel()
	a, b := Pair()
	defer func() { _, _ = a.Close(), b.Close() }()
	go func() {
		_ = a.Send(KindReady)
		_ = a.Send(KindOutput, Output(258, Stderr), []byte("text"))
		_ = a.Send(KindExit, Exit(3, 0x700))
		_ = a.SendValue(KindHello, Hello{Role: RoleStep, Session: 5})
	}()
	if f, err := b.Receive(); err != nil || f.Kind != KindReady || len(f.Body) != 0 {
		t.Errorf("%+v, %v", f, err)
	}
	f, err := b.Receive()
	if task, stream, data, ok := ReadOutput(f.Body); err != nil || !ok || task != 258 || stream != Stderr || string(data) != "text" {
		t.Errorf("%+v, %v", f, err)
	}
	f, err = b.Receive()
	if task, status, ok := ReadExit(f.Body); err != nil || !ok || task != 3 || status != 0x700 {
		t.Errorf("%+v, %v", f, err)
	}
	var hello Hello
	if err := b.Expect(KindHello, &hello); err != nil || hello.Session != 5 {
		t.Errorf("%+v, %v", hello, err)
	}
	go func() { _, _ = io.Copy(io.Discard, b.raw) }() // so that a frame that is sent by mistake does not wait
	for kind, size := range map[Kind]int{KindOutput: MaxData + 100, 0: 0, kindCount: 0} {
		if err := a.Send(kind, make([]byte, size)); err == nil {
			t.Errorf("a frame of kind %d with %d bytes was sent", kind, size)
		}
	}
}

// FuzzBodies checks that bodies about tasks are read as what they were made of, or refused.
func FuzzBodies(f *testing.F) {
	f.Add(Exit(1, 9))
	f.Add(append(Output(1, Stderr), 'x'))
	f.Fuzz(func(t *testing.T, body []byte) {
		if task, stream, text, ok := ReadOutput(body); ok && !bytes.Equal(append(Output(task, stream), text...), body) {
			t.Fatalf("output %q is read as %d, %d, %q", body, task, stream, text)
		}
		if task, status, ok := ReadExit(body); ok && !bytes.Equal(Exit(task, status), body) {
			t.Fatalf("an end %q is read as %d, %d", body, task, status)
		}
	})
}

// TestSecret checks that both sides refuse the other if the secrets differ.
func TestSecret(t *testing.T) {
	t.Parallel()
	for _, secrets := range [][2]string{{"one", "one"}, {"one", "two"}} {
		server, err := NewKey(secrets[0])
		if err != nil {
			t.Fatal(err)
		}
		client, err := NewKey(secrets[1])
		if err != nil {
			t.Fatal(err)
		}
		listener, err := Listen(context.Background(), "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		accepted := make(chan error, 1)
		go func() {
			raw, err := listener.Accept()
			if err == nil {
				var c *Conn
				if c, _, err = server.Accept(context.Background(), raw); err == nil {
					_ = c.Close()
				}
			}
			accepted <- err
		}()
		c, err := client.Dial(context.Background(), listener.Addr().String(), Hello{Role: RoleNode, Rank: 1})
		if err == nil {
			_, _ = c.Receive() // until the other side has decided
			_ = c.Close()
		}
		same := secrets[0] == secrets[1]
		if other := <-accepted; (other == nil) != same || !same && !errors.Is(err, ErrSecret) || same && err != nil {
			t.Errorf("with %q: %v and %v", secrets, err, other)
		}
		_ = listener.Close()
	}
	if _, err := NewKey(""); err == nil {
		t.Error("no secret is a secret")
	}
}

// TestBytes checks that strings arrive as they are, also those that are not UTF-8.
func TestBytes(t *testing.T) {
	t.Parallel()
	const odd = "a\xe9\xff\u2028<"
	stream := Stream{Pattern: odd, Task: 3}
	ask := Ask{
		Command: []string{odd, ""}, Env: []string{"A=" + odd}, Dir: odd, Name: odd, Umask: 18, Stdout: stream, Stderr: stream,
		Stdin: Stream{None: true}, Append: true, Immediate: 5,
	}
	ask.Size.Tasks = 7
	for _, launch := range []Launch{{}, {Ask: ask, Index: 2, GPUs: []int{}, TmpDir: "/tmp"}} {
		data, err := json.Marshal(launch)
		if err != nil {
			t.Fatal(err)
		}
		var back Launch
		if err := json.Unmarshal(data, &back); err != nil || !reflect.DeepEqual(launch, back) {
			t.Errorf("%+v\nwas sent and arrives as\n%+v, %v", launch, back, err)
		}
	}
}

// userTimeout returns how long data of a connection may stay unacknowledged, in milliseconds.
func userTimeout(t *testing.T, c *Conn) (ms int) {
	t.Helper()
	secure, ok := c.raw.(*tls.Conn)
	if !ok {
		t.Fatal("no TLS")
	}
	tcp, ok := secure.NetConn().(*net.TCPConn)
	if !ok {
		t.Fatal("no TCP")
	}
	conn, err := tcp.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Control(func(fd uintptr) { ms, _ = unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT) }); err != nil {
		t.Fatal(err)
	}
	return ms
}

// TestBound checks that a host that is gone is found by what is sent to it, on connections whose other side always reads.
func TestBound(t *testing.T) {
	t.Parallel()
	key, err := NewKey("secret")
	if err != nil {
		t.Fatal(err)
	}
	listener, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	for role, want := range map[Role][2]int{RoleNode: {75_000, 75_000}, RoleStep: {0, 75_000}, RoleSrun: {0, 0}} {
		dialed := make(chan *Conn, 1)
		go func() {
			defer close(dialed)
			if c, err := key.Dial(t.Context(), listener.Addr().String(), Hello{Role: role}); err == nil {
				dialed <- c
			}
		}()
		raw, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		server, _, err := key.Accept(t.Context(), raw)
		client := <-dialed
		if err != nil || client == nil {
			t.Fatal(err)
		}
		if got := [2]int{userTimeout(t, client), userTimeout(t, server)}; got != want {
			t.Errorf("%s: the limits are %d; they should be %d", role, got, want)
		}
		_, _ = client.Close(), server.Close()
	}
}

// TestPlainText checks that a connection without TLS is refused.
func TestPlainText(t *testing.T) {
	t.Parallel()
	key, err := NewKey("secret")
	if err != nil {
		t.Fatal(err)
	}
	a, b := net.Pipe()
	go func() {
		_ = New(b).SendValue(KindHello, Hello{Role: RoleNode, Rank: 1})
		_ = b.Close()
	}()
	if _, _, err := key.Accept(context.Background(), a); err == nil {
		t.Error("a connection without TLS was accepted")
	}
}

// TestLocal checks sockets in folders with long names, their mode, and that a second server takes the place of one that is gone.
func TestLocal(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), strings.Repeat("long-name/", 15))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		listener, err := ListenLocal(folder, jobfile.Socket)
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(filepath.Join(folder, jobfile.Socket)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the socket is %v, %v", info, err)
		}
		go func() {
			if raw, err := listener.AcceptUnix(); err == nil {
				if c, err := Own(raw); err == nil {
					_ = c.Send(KindReady)
				}
			}
		}()
		c, err := DialLocal(folder)
		if err != nil {
			t.Fatal(err)
		}
		if f, err := c.Receive(); err != nil || f.Kind != KindReady {
			t.Errorf("%+v, %v", f, err)
		}
		_ = c.Close()
		_ = listener.Close()
	}
	if _, err := DialLocal(folder); err == nil {
		t.Error("a server that is gone answers")
	}
}
