package examine

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/cmd/internal/doctor"
	"github.com/berth-gpu/berth/httpapi/endpoint"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// greetLimit bounds the wait for a peer.
const greetLimit = 4 * time.Second

// Greet asks the API of a peer for its clock and its version.
func Greet(ctx context.Context, dial cli.Dial, address string) (clock doctor.PeerClock, version string, err error) {
	ctx, cancel := context.WithTimeout(ctx, greetLimit)
	defer cancel()
	to, err := endpoint.URL(address, "/healthz")
	if err != nil {
		return clock, "", err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, to.String(), nil)
	if err != nil {
		return clock, "", err
	}
	connected := time.Now()
	web := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, at string) (net.Conn, error) {
			conn, err := dial(ctx, network, at)
			connected = time.Now() // the time of the handshake says nothing about the peer's clock
			return conn, err
		},
	}}
	answer, err := web.Do(r)
	if err != nil {
		return clock, "", endpoint.Plainly(err)
	}
	took := time.Since(connected)
	_ = answer.Body.Close()
	ms, err := strconv.ParseInt(answer.Header.Get(wire.HeaderTime), 10, 64)
	if err != nil {
		return clock, "", errors.New("another program answers there")
	}
	clock.Ahead, clock.Error = time.UnixMilli(ms).Sub(connected.Add(took/2)), took/2+time.Millisecond
	return clock, answer.Header.Get(wire.HeaderVersion), nil
}

// Judge returns what the result of a connection means.
func Judge(err error) (result, detail string) {
	timeout, is := errors.AsType[net.Error](err)
	switch {
	case err == nil:
		return doctor.Answers, ""
	case errors.Is(err, syscall.ECONNREFUSED):
		return doctor.Refused, ""
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), is && timeout.Timeout():
		return doctor.NoAnswer, ""
	}
	return doctor.Failed, err.Error()
}
