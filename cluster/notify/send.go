package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/berth-gpu/berth/fsm/model/outbox"
	"github.com/berth-gpu/berth/fsm/state"
)

// Bounds of one try.
const (
	tryLimit    = 10 * time.Second
	answerLimit = 64 << 10 // bytes of a receiver's answer that are read
	headerLimit = 32 << 10
)

// Message is a delivery as it is sent.
type Message struct {
	ID     string // the webhook-id: the same at every try
	URL    string
	Secret string // may be sealed; empty: unsigned
	Body   []byte
	JSON   bool // the body is JSON; else it is text
	rules  *rules
}

// MessageID returns the webhook-id of a delivery.
func MessageID(d *outbox.Delivery) string { return ID(&d.Notice) + "." + string(d.Key.Outlet) }

// compose makes the message of a delivery. An error means that it can never be sent.
func compose(s *state.State, d *outbox.Delivery) (*Message, error) {
	m := &Message{ID: MessageID(d), rules: rulesOf(s)}
	hook, is := d.Key.Outlet.Webhook()
	if !is {
		out, found := s.Outlets.Get(d.Key.Outlet)
		if !found {
			return nil, errors.New("the webhook was removed")
		}
		m.URL, m.Secret = out.URL, s.Settings().Notify.Secret
		return m, m.encode(d)
	}
	w, found := s.Webhooks.Get(hook)
	if !found {
		return nil, errors.New("the webhook was removed")
	}
	m.URL, m.Secret = w.URL, w.Secret
	if w.Template == "" {
		return m, m.encode(d)
	}
	t, err := ParseTemplate(w.Template)
	if err == nil {
		m.JSON = t.JSON()
		m.Body, err = t.Render(EventOf(&d.Notice))
	}
	if err != nil {
		return nil, fmt.Errorf("the template: %w", err)
	}
	return m, nil
}

// encode makes the body of a delivery without a template.
func (m *Message) encode(d *outbox.Delivery) (err error) {
	m.JSON = true
	if d.Notice.Allocation != "" && d.Key.Outlet == outbox.OfAllocation(d.Notice.Allocation) {
		m.Body, err = json.Marshal(grantedOf(&d.Notice))
	} else {
		m.Body, err = json.Marshal(EventOf(&d.Notice))
	}
	return err
}

// Send tries to deliver a message once. It returns the HTTP status, 0 if none came, and the error in words;
// nil: the receiver has taken it.
func (w *World) Send(ctx context.Context, m *Message) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, tryLimit)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, m.URL, bytes.NewReader(m.Body))
	if err != nil {
		return 0, errors.New("the address is no URL")
	}
	r.Header.Set("User-Agent", "berth-webhook")
	r.Header.Set("Content-Type", "text/plain; charset=utf-8")
	if m.JSON {
		r.Header.Set("Content-Type", "application/json")
	}
	secret, err := w.Sealing.Open(m.Secret)
	if err != nil {
		return 0, fmt.Errorf("the secret that signs cannot be read: %w", err)
	}
	sign(r.Header, secret, m.ID, time.Now(), m.Body)
	// A connection serves one try only: a reused one could outlive the rules that it was made under.
	road := &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return w.dial(ctx, m.rules, network, address)
		},
		DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: headerLimit,
	}
	defer road.CloseIdleConnections()
	answer, err := road.RoundTrip(r)
	if err != nil {
		return 0, &UnreachableError{failing(ctx, err)}
	}
	defer func() { _ = answer.Body.Close() }()
	_, err = io.CopyN(io.Discard, answer.Body, answerLimit)
	switch code := answer.StatusCode; {
	case code >= http.StatusMultipleChoices && code < http.StatusBadRequest:
		return code, errors.New("it redirects elsewhere, which is not followed: give the webhook its new address")
	case code < http.StatusOK || code >= http.StatusMultipleChoices:
		return code, fmt.Errorf("it answers %d %s", code, http.StatusText(code))
	case err != nil && !errors.Is(err, io.EOF) && ctx.Err() == nil:
		return code, nil // the receiver has taken the message; the rest does not matter
	}
	return answer.StatusCode, nil
}

// UnreachableError means that a receiver gave no answer. It has one text for every cause, since users see it:
// by which of names, ports and addresses are refused, silent or forbidden, they could explore the leader's
// network. The cause is for the log.
type UnreachableError struct{ cause error }

// Error returns the one text.
func (e *UnreachableError) Error() string { return "unreachable" }

// Unwrap returns the cause.
func (e *UnreachableError) Unwrap() error { return e.cause }

// failing returns the cause without the address, which may hold a secret.
func failing(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("no answer within %s", tryLimit)
	}
	if u, is := errors.AsType[*url.Error](err); is {
		err = u.Err
	}
	return err
}

// hostOf returns the host of an address, for counting the deliveries under way to that host.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	port := u.Port()
	if port == "" {
		port = strconv.Itoa(map[string]int{"http": 80, "https": 443}[u.Scheme])
	}
	return net.JoinHostPort(u.Hostname(), port)
}
