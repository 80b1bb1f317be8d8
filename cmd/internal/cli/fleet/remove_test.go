package fleet

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// The peer that is removed may cut off the first try and be gone at the next: whatever the last try has met, another peer is asked what has
// become of the first.
func TestARemovalThatWasCutOff(t *testing.T) {
	t.Parallel()
	for _, others := range []bool{true, false} {
		cut := false
		gone := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
				_ = conn.Close()
			}
		}))
		t.Cleanup(gone.Close)
		other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				_, _ = w.Write([]byte(`{"peers":[{"name":"p2"}]}`))
				return
			}
			w.Header().Set("Content-Type", wire.ProblemType)
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"code":"not_found","detail":"there is no peer p1"}`))
		}))
		t.Cleanup(other.Close)
		leaves := gone.Listener.Addr().String()
		o := client.Options{Addresses: []string{leaves}, Patience: time.Millisecond}
		o.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			if address == leaves && cut {
				return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
			}
			cut = cut || address == leaves
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}
		if others {
			o.Addresses = append(o.Addresses, other.Listener.Addr().String())
		}
		api, err := client.New(o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(api.Close)
		got, err := removePeer(t.Context(), api, "p1")
		switch {
		case others && (err != nil || !strings.Contains(got.Message, "peer p1 is removed")):
			t.Errorf("%+v, %v", got, err)
		case !others && (err == nil || !strings.Contains(err.Error(), "look at berth peers on another machine")):
			t.Errorf("%+v, %v", got, err)
		}
	}
}

// The answer to a removal is lost when the peer that was asked is the one that goes: then the list of peers shows what has become of it.
func TestALostAnswerToARemoval(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]struct {
		peers string // that are listed afterwards; empty: no answer either
		says  string
		fails string
	}{
		"removed":     {`{"peers":[{"name":"p2"},{"name":"p3"}]}`, "peer p1 is removed", ""},
		"still there": {`{"peers":[{"name":"p1"},{"name":"p2"}]}`, "", "EOF"},
		"unknown":     {"", "", "look at berth peers on another machine"},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet && v.peers != "" {
				_, _ = w.Write([]byte(v.peers))
				return
			}
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				err = conn.Close()
			}
			if err != nil {
				t.Error(err)
			}
		}))
		t.Cleanup(s.Close)
		api, err := client.New(client.Options{Addresses: []string{strings.TrimPrefix(s.URL, "http://")}, Patience: time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(api.Close)
		got, err := removePeer(t.Context(), api, "p1")
		switch {
		case v.fails == "":
			if err != nil || !strings.Contains(got.Message, v.says) {
				t.Errorf("%s: %+v, %v", name, got, err)
			}
		case err == nil || !strings.Contains(err.Error(), v.fails):
			t.Errorf("%s: %+v, %v, want %q", name, got, err, v.fails)
		}
	}
}
