package cmdline

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"

	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/trust"
)

func TestOneLine(t *testing.T) {
	for text, want := range map[string]string{
		"one":                    "one",
		"one\n  two\n\nthree":    "one; two; three",
		"all of these:\n one,\n": "all of these: one,",
		"It ended.\nOnce.":       "It ended. Once.",
	} {
		if got := OneLine(errors.New(text)); got != want {
			t.Errorf("%q is %q, not %q", text, got, want)
		}
	}
}

// Whether the cluster runs is asked where nothing has answered, and not where the reason is known.
func TestAdvice(t *testing.T) {
	t.Parallel()
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	const asks = "is the cluster running?"
	for _, v := range []struct {
		cause error
		want  string
	}{
		{refused, asks},
		{context.DeadlineExceeded, asks},
		{&trust.HandshakeError{Address: "10.0.0.1:1", Cause: context.DeadlineExceeded}, asks},
		{&trust.HandshakeError{Address: "10.0.0.1:1", Cause: io.EOF}, asks},
		{&trust.HandshakeError{Address: "10.0.0.1:1", Cause: errors.New("it is of another cluster")}, ""},
		{errors.Join(&trust.HandshakeError{Address: "10.0.0.1:1", Cause: x509.UnknownAuthorityError{}}, nil), ""},
		{&net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "p1", IsNotFound: true}}, "give the cluster's peers"},
	} {
		err := Advise(fmt.Errorf("%w at 10.0.0.1:1: %w", client.ErrUnreachable, v.cause))
		text := err.Error()
		more := strings.Contains(text, "; give") || strings.Contains(text, asks)
		if strings.Contains(text, asks) != (v.want == asks) || !strings.Contains(text, v.want) || more != (v.want != "") {
			t.Errorf("%v, want %q", err, v.want)
		}
	}
}
