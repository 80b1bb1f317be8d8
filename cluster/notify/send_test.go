package notify

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/outbox"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// waiting returns a cluster with one webhook, and one delivery that waits for it.
func waiting(t *testing.T, url string, change func(*outbox.Webhook)) (*statetest.Cluster, *outbox.Delivery) {
	t.Helper()
	c := statetest.New(t)
	w := outbox.Webhook{
		ID: "one", Scope: model.ScopeKey{Kind: model.ScopeCluster}, URL: url, Events: model.AllNotices(), Secret: model.NewHookSecret([32]byte{7}),
	}
	change(&w)
	c.Do(&command.SetNotify{Notify: model.Notify{Allow: "example.com,127.0.0.0/8"}})
	c.Do(&command.SetWebhook{Webhook: w})
	c.Submit(1)
	list, _ := due(&c.State, c.Now, 10, func(outbox.Key) bool { return true })
	if len(list) != 1 {
		t.Fatalf("%d deliveries wait", len(list))
	}
	return c, &list[0]
}

func sent(t *testing.T, s *state.State, d *outbox.Delivery) *Message {
	t.Helper()
	m, err := compose(s, d)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func outside() *World {
	return &World{Dial: (&net.Dialer{}).DialContext, Local: nil}
}

// A receiver gets the event, signed so that it can check it with the secret.
func TestAReceiver(t *testing.T) {
	type got struct {
		body   string
		header http.Header
	}
	requests := make(chan got, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		requests <- got{string(body), r.Header}
		w.WriteHeader(http.StatusNoContent)
	}))
	defer server.Close()
	c, d := waiting(t, server.URL+"/hook?key=1", func(*outbox.Webhook) {})
	m := sent(t, &c.State, d)
	status, err := outside().Send(t.Context(), m)
	if status != http.StatusNoContent || err != nil {
		t.Fatalf("%d, %v", status, err)
	}
	r := <-requests
	h := r.header
	want := "v1," + signature(model.HookKey(m.Secret), h.Get("webhook-id"), h.Get("webhook-timestamp"), []byte(r.body))
	if h.Get("webhook-signature") != want || h.Get("webhook-id") != MessageID(d) || h.Get("Content-Type") != "application/json" {
		t.Errorf("the headers are %v", h)
	}
	if !strings.Contains(r.body, `"type":"job.queued"`) || !strings.Contains(r.body, `"job_id":"1"`) {
		t.Errorf("the body is %s", r.body)
	}
}

// Errors are reported in words, without the address, and redirects are not followed.
func TestReceiversThatDoNot(t *testing.T) {
	var reached atomic.Int32
	inner := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer inner.Close()
	hang := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/500":
			w.WriteHeader(http.StatusInternalServerError)
		case "/metadata":
			http.Redirect(w, r, "http://169.254.169.254/latest/meta-data/", http.StatusFound)
		case "/inner":
			http.Redirect(w, r, inner.URL, http.StatusTemporaryRedirect)
		case "/long":
			_, _ = w.Write(make([]byte, 1<<20))
		case "/hang":
			<-hang
		case "/cut":
			conn, _, _ := http.NewResponseController(w).Hijack()
			_ = conn.Close()
		}
	}))
	defer server.Close()
	defer close(hang)
	for path, v := range map[string]struct {
		status int
		want   string // in the error; empty: none
	}{
		"/500":      {500, "it answers 500"},
		"/metadata": {302, "redirects"},
		"/inner":    {307, "redirects"},
		"/long":     {200, ""},
		"/hang":     {0, "unreachable"},
		"/cut":      {0, "unreachable"},
	} {
		c, d := waiting(t, server.URL+path+"?secret=1", func(*outbox.Webhook) {})
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		if path != "/hang" {
			ctx, cancel = context.WithCancel(t.Context())
		}
		status, err := outside().Send(ctx, sent(t, &c.State, d))
		cancel()
		switch {
		case status != v.status, (err == nil) != (v.want == ""):
			t.Errorf("%s: %d, %v", path, status, err)
		case err != nil && (!strings.Contains(err.Error(), v.want) || strings.Contains(err.Error(), "secret")):
			t.Errorf("%s: %v", path, err)
		}
	}
	if reached.Load() != 0 {
		t.Error("a redirection was followed")
	}
	dead := httptest.NewServer(nil)
	dead.Close()
	c, d := waiting(t, dead.URL, func(*outbox.Webhook) {})
	if _, err := outside().Send(t.Context(), sent(t, &c.State, d)); err == nil {
		t.Error("a receiver that is not there has taken a delivery")
	}
}

// A user that looks at deliveries does not learn which ports and hosts of the leader's network exist:
// whatever is wrong with the way to a receiver has one text.
func TestOneTextForAllThatIsUnreachable(t *testing.T) {
	t.Parallel()
	dead := httptest.NewServer(nil)
	dead.Close()
	w := outside()
	w.Resolve = func(_ context.Context, host string) ([]netip.Addr, error) {
		switch host {
		case "inner.example":
			return []netip.Addr{netip.MustParseAddr("10.9.9.9")}, nil
		case "metadata.example":
			return []netip.Addr{netip.MustParseAddr("169.254.169.254")}, nil
		}
		return nil, errors.New("no such host")
	}
	for _, url := range []string{dead.URL, "http://inner.example/", "http://metadata.example/", "http://none.example/"} {
		c, d := waiting(t, url, func(*outbox.Webhook) {})
		c.Do(&command.SetNotify{Notify: model.Notify{Allow: "*.example,127.0.0.0/8"}})
		if _, err := w.Send(t.Context(), sent(t, &c.State, d)); err == nil || err.Error() != "unreachable" || errors.Unwrap(err) == nil {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// The cluster's own ports are no receivers, even on loopback.
func TestOwnPortsAreNoReceivers(t *testing.T) {
	var reached atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer server.Close()
	c, d := waiting(t, server.URL, func(*outbox.Webhook) {})
	c.Do(&command.SetPeer{Peer: model.Peer{ID: "p1", APIAddress: strings.TrimPrefix(server.URL, "http://"), Level: 1}})
	if _, err := outside().Send(t.Context(), sent(t, &c.State, d)); err == nil || !strings.Contains(errors.Unwrap(err).Error(), "port of this cluster") {
		t.Errorf("it says %v", err)
	}
	if reached.Load() != 0 {
		t.Error("it was reached")
	}
}

func TestCompose(t *testing.T) {
	c, d := waiting(t, "https://example.com", func(w *outbox.Webhook) { w.Template = `{"text": {{json .target}}}` })
	if m := sent(t, &c.State, d); string(m.Body) != `{"text": "job 1"}` {
		t.Errorf("the body is %s", m.Body)
	}
	c, d = waiting(t, "https://example.com", func(w *outbox.Webhook) { w.Template = `{{range .}}{{end}}` })
	if _, err := compose(&c.State, d); err == nil || !strings.Contains(err.Error(), "template") {
		t.Errorf("a template that is none: %v", err)
	}
	c.Do(&command.DropWebhook{ID: "one"})
	if _, err := compose(&c.State, d); err == nil {
		t.Error("something is sent to a webhook that was removed")
	}
	secret := model.NewHookSecret([32]byte{9})
	c.Do(&command.SetNotify{Notify: model.Notify{Secret: secret}})
	c.Submit(1, func(b *command.Submit) {
		b.Spec.WebhookURL, b.Spec.Notify = "https://example.com/job", model.JobNotices()
	})
	list, _ := due(&c.State, c.Now, 10, func(outbox.Key) bool { return true })
	if m := sent(t, &c.State, &list[0]); m.Secret != secret || m.URL != "https://example.com/job" {
		t.Errorf("a job's own webhook: %+v", m)
	}
}
