package link

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// Key proves that a node belongs to an attempt of a job.
type Key struct {
	public ed25519.PublicKey
	cert   tls.Certificate
}

// NewKey returns the key that follows from the secret of an attempt: all its nodes have the same one.
func NewKey(secret string) (*Key, error) {
	if secret == "" {
		return nil, errors.New("the job has several nodes and no secret")
	}
	seed := sha256.Sum256([]byte("berth steps " + secret))
	private := ed25519.NewKeyFromSeed(seed[:])
	public, ok := private.Public().(ed25519.PublicKey)
	if !ok {
		return nil, errors.New("a key of Ed25519 has no public part")
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(nil, template, template, public, private)
	if err != nil {
		return nil, err
	}
	return &Key{public, tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}}, nil
}

// ErrSecret is the error of a connection whose other side does not know the secret.
var ErrSecret = errors.New("the other side does not belong to this attempt of the job")

// config returns TLS by which both sides prove that they have the key. Names and dates of certificates mean nothing here.
func (k *Key) config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{k.cert}, ClientAuth: tls.RequireAnyClientCert,
		InsecureSkipVerify:     true, //nolint:gosec // VerifyConnection asks for one exact key
		SessionTicketsDisabled: true,
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) != 1 {
				return ErrSecret
			}
			public, ok := s.PeerCertificates[0].PublicKey.(ed25519.PublicKey)
			if !ok || !bytes.Equal(public, k.public) {
				return ErrSecret
			}
			return nil
		},
	}
}

// patience is how long a connection may take until both sides have proved the key.
const patience = 20 * time.Second

// keepAlive finds a node that is gone without a word.
func keepAlive() net.KeepAliveConfig {
	return net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 10 * time.Second, Count: 6}
}

// unread is how long data may stay unacknowledged before the connection is lost: keepAlive finds only that an idle one is.
const unread = 75 * time.Second

// bound sets the limit of unread for data that this side sends. The kernel also ends connections whose other side lives and does not read
// for that long. So the limit is only for directions whose data is taken at once, and not for output, which may have to wait for a slow
// reader.
func bound(raw net.Conn, taken bool) error {
	tcp, ok := raw.(*net.TCPConn)
	if !ok || !taken {
		return nil
	}
	conn, err := tcp.SyscallConn()
	if err != nil {
		return err
	}
	var failure error
	err = conn.Control(func(fd uintptr) {
		failure = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(unread.Milliseconds()))
	})
	return errors.Join(err, failure)
}

// Dial connects to the server of steps of the first node, and sends a hello.
func (k *Key) Dial(ctx context.Context, address string, hello Hello) (*Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	dialer := net.Dialer{KeepAliveConfig: keepAlive()}
	raw, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	secure := tls.Client(raw, k.config())
	c := New(secure)
	err = secure.HandshakeContext(ctx)
	if err == nil {
		err = bound(raw, hello.Role == RoleNode) // by a step come output and ends; by srun its input, which waits for the tasks
	}
	if err == nil {
		err = c.SendValue(KindHello, hello)
	}
	if err != nil {
		_ = raw.Close()
		return nil, err
	}
	return c, nil
}

// Listen listens for nodes of the job.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	config := net.ListenConfig{KeepAliveConfig: keepAlive()}
	return config.Listen(ctx, "tcp", address)
}

// Accept lets the other side of a connection prove the key, and reads its hello.
func (k *Key) Accept(ctx context.Context, raw net.Conn) (*Conn, Hello, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	secure := tls.Server(raw, k.config())
	var hello Hello
	err := secure.HandshakeContext(ctx)
	c := New(secure)
	if err == nil {
		_ = raw.SetDeadline(time.Now().Add(patience))
		err = c.Expect(KindHello, &hello)
		_ = raw.SetDeadline(time.Time{})
	}
	if err == nil {
		err = bound(raw, hello.Role != RoleSrun) // a node takes input and signals at once; an srun may be slow
	}
	if err != nil {
		_ = raw.Close()
		return nil, Hello{}, err
	}
	return c, hello, nil
}
