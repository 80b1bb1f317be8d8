package fleet

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/httpapi/client"
)

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
