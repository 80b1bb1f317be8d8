package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"
)

// patience is how long a registry may send nothing before a try ends. A whole pull has no limit.
const patience = 2 * time.Minute

// errSilent ends a request whose answer does not go on.
var errSilent = errors.New("the registry has sent nothing for 2 minutes")

// newTransport returns the connections to registries. Proxies are those of the environment.
func newTransport() http.RoundTripper {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:     true,
		MaxIdleConnsPerHost:   2 * parallel,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   20 * time.Second,
		ExpectContinueTimeout: time.Second,
		DisableCompression:    true, // a layer is verified as the registry keeps it
	}
}

// plainHTTP is the error of a request without TLS to another machine.
type plainHTTP struct {
	host  string
	first bool // a first request, which is sent with TLS, too
}

func (e *plainHTTP) Error() string {
	return "no request is sent to " + e.host + " without https: only registries on this machine may do without"
}

// watched sends requests to registries. A request ends when nothing arrives for too long, and plain HTTP goes to this
// machine only, whatever a registry's answers lead to.
type watched struct {
	next http.RoundTripper
	host string // the only host that may get a password; empty: any
}

// RoundTrip implements http.RoundTripper.
func (w *watched) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != "https" && !isLoopback(r.URL.Host) {
		return nil, &plainHTTP{host: r.URL.Host, first: r.URL.Path == "/v2/"}
	}
	if w.host != "" && w.host != r.URL.Host && strings.HasPrefix(r.Header.Get("Authorization"), "Basic ") {
		r = r.Clone(r.Context())
		r.Header.Del("Authorization")
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	timer := time.AfterFunc(patience, func() { cancel(errSilent) })
	resp, err := w.next.RoundTrip(r.WithContext(ctx))
	if err != nil {
		timer.Stop()
		err = silence(ctx, err)
		cancel(nil)
		return nil, err
	}
	timer.Reset(patience)
	resp.Body = &watchedBody{ReadCloser: resp.Body, ctx: ctx, cancel: cancel, timer: timer}
	return resp, nil
}

// watchedBody resets a timer whenever bytes arrive.
type watchedBody struct {
	io.ReadCloser

	ctx    context.Context //nolint:containedctx // of the request that the body belongs to
	cancel context.CancelCauseFunc
	timer  *time.Timer
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.timer.Reset(patience)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = silence(b.ctx, err)
	}
	return n, err
}

func (b *watchedBody) Close() error {
	b.timer.Stop()
	b.cancel(nil)
	return b.ReadCloser.Close()
}

// silence returns errSilent in place of the error of a request that was ended because nothing arrived.
func silence(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errSilent) {
		return errSilent
	}
	return err
}

// isLoopback reports whether an address, with or without a port, is of this machine: localhost or a loopback address.
func isLoopback(address string) bool {
	host := address
	if h, _, err := net.SplitHostPort(address); err == nil {
		host = h
	}
	if len(host) > 1 && host[0] == '[' && host[len(host)-1] == ']' {
		host = host[1 : len(host)-1]
	}
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// The tries of a request: back-off is the wait before the second and the third.
const (
	tries       = 3
	damagedMost = 2 // tries of what arrives damaged
	firstWait   = 2 * time.Second
	waitFactor  = 5
)

// try carries out a request to a registry until it succeeds, fails for good, or has been tried often enough.
func try(ctx context.Context, request func() error) error {
	wait := firstWait
	for n := 1; ; n++ {
		err := request()
		if err == nil || ctx.Err() != nil {
			return err
		}
		f := judge(err)
		most := tries
		switch f.kind {
		case Unreachable, Busy:
		case Damaged:
			most = damagedMost
		case NotFound, Denied, Platform, BadFile, BadImage, Full, Local:
			return err
		}
		if n >= most {
			return &fault{f.kind, fmt.Sprintf("%s (after %d tries)", f.reason, n), f.remedy}
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
		wait *= waitFactor
	}
}
