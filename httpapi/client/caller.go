package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/endpoint"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Bounds of calls.
const (
	callLimit     = 8 * time.Second // for one answer, in addition to the wait that the request asks for
	dialLimit     = 2 * time.Second
	patience      = 10 * time.Second       // with peers that are temporarily unable
	aloneLimit    = 2 * time.Second        // with peers none of which can be reached
	roundPause    = 100 * time.Millisecond // after each of them was asked
	maxAnswer     = 256 << 20              // bytes
	maxProblem    = 64 << 10               // bytes
	idlePerPeer   = 64
	idleFor       = 90 * time.Second
	contentJSON   = "application/json"
	headerAccept  = "Accept"
	headerContent = "Content-Type"
)

// caller sends requests to peers over HTTP.
type caller struct {
	http     *http.Client
	agent    string
	version  string
	token    string
	limit    time.Duration // for one answer
	patience time.Duration
	expiring func(time.Time)
	warned   sync.Once

	mu     sync.Mutex
	peers  []string
	hints  []string       // addresses that were only heard of, for when none of the peers can be reached
	turns  map[string]int // for each kind of call, the peer that is asked first
	misses map[string]int // for each kind of call, the peers in a row that could not be reached
}

func newCaller(o Options) (*caller, error) {
	for _, address := range o.Addresses {
		if _, _, err := model.SplitHostPort(address); err != nil {
			return nil, err
		}
	}
	dial := o.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: dialLimit}).DialContext
	}
	c := &caller{
		agent: o.UserAgent, version: o.Version, token: o.Token, limit: callLimit, patience: o.Patience, expiring: o.Expiring,
		turns: map[string]int{}, misses: map[string]int{},
	}
	if c.agent == "" {
		c.agent = "berth"
	}
	if c.patience == 0 {
		c.patience = patience
	}
	c.http = &http.Client{
		Transport: &http.Transport{
			DialContext: dial, MaxIdleConnsPerHost: idlePerPeer, IdleConnTimeout: idleFor, DisableCompression: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	c.setPeers(o.Addresses)
	return c, nil
}

// request is one call, to any peer.
type request struct {
	kind   string // calls of one kind share a first peer; may be empty
	method string
	path   string // escaped
	query  url.Values
	body   []byte
	media  string        // of body and answer; empty: JSON
	key    string        // Idempotency-Key of a change that may be sent again; empty: none
	wait   time.Duration // that the peer is asked to wait
	stream bool          // there is no limit on the time of the answer's body
	once   bool          // ask one peer once
	only   string        // address of the one peer to ask; empty: any

	cut error // a try was sent, and no answer has arrived; nil: none
}

// CutError is the error of a change of which one try was sent and not answered: it may have been carried out, whatever the last try
// has met.
type CutError struct {
	Err error // of the last try
	Cut error // of the one that was sent
}

// Error returns the error of the last try, and that an earlier one was cut off.
func (e *CutError) Error() string {
	if e.Err == e.Cut || errors.Is(e.Err, e.Cut) { //nolint:errorlint // the same one
		return e.Err.Error()
	}
	return fmt.Sprintf("%v; an earlier try was cut off (%v) and may have been carried out", e.Err, e.Cut)
}

// Unwrap returns the errors of both tries.
func (e *CutError) Unwrap() []error { return []error{e.Err, e.Cut} }

// do asks peers until one answers. The caller closes the body.
func (c *caller) do(ctx context.Context, q *request) (*http.Response, error) {
	answer, err := c.rounds(ctx, q)
	if err != nil && q.cut != nil {
		err = &CutError{Err: err, Cut: q.cut}
	}
	return answer, err
}

// rounds asks all peers again and again until one answers.
func (c *caller) rounds(ctx context.Context, q *request) (*http.Response, error) {
	began := time.Now()
	for {
		answer, err := c.round(ctx, q)
		if err == nil || q.once || ctx.Err() != nil || !again(err) {
			return answer, err
		}
		limit := c.patience
		if errors.Is(err, ErrUnreachable) {
			limit = aloneLimit
		}
		if q.key == "" || time.Since(began)+roundPause > limit {
			return nil, err
		}
		select {
		case <-time.After(roundPause):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// again reports whether a change may be sent again under its key.
func again(err error) bool {
	if p, is := errors.AsType[*wire.Problem](err); is {
		return p.Status == http.StatusServiceUnavailable || p.Status == http.StatusTooManyRequests
	}
	return true
}

// round asks each peer once until one answers.
func (c *caller) round(ctx context.Context, q *request) (*http.Response, error) {
	known, hints := c.line(q.kind), c.hinted()
	if q.only != "" {
		known, hints = []string{q.only}, nil
	}
	peers := slices.Concat(known, hints)
	var refusal *wire.Problem
	var last error
	for i, peer := range peers {
		if i >= len(known) && refusal != nil {
			break
		}
		answer, err := c.ask(ctx, peer, q)
		if err == nil {
			return answer, nil
		}
		problem, refused := errors.AsType[*wire.Problem](err)
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			c.passOver(q.kind, peer) // it has used all of the caller's time
		}
		if ctx.Err() != nil || refused && problem.Status != http.StatusServiceUnavailable {
			return nil, err
		}
		if c.passOver(q.kind, peer); refused {
			refusal = problem
		} else if len(peers) > 1 && !strings.Contains(err.Error(), peer) {
			err = fmt.Errorf("%s: %w", peer, err)
		}
		if last = err; q.once {
			break
		}
	}
	switch {
	case refusal != nil:
		return nil, refusal
	case last == nil:
		return nil, fmt.Errorf("%w: no address is known", ErrUnreachable)
	}
	return nil, fmt.Errorf("%w at %s: %w", ErrUnreachable, strings.Join(peers, ", "), last)
}

// ask asks one peer. An answer that is an error is a *wire.Problem.
func (c *caller) ask(ctx context.Context, peer string, q *request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	limit := time.AfterFunc(c.limit+q.wait, func() { cancel(errLate) })
	answer, err := c.send(ctx, peer, q)
	if err != nil {
		limit.Stop()
		cancel(nil)
		if errors.Is(context.Cause(ctx), errLate) {
			err = fmt.Errorf("%s: %w", peer, errLate)
		}
		return nil, err
	}
	c.warn(answer.Header)
	if q.stream {
		limit.Stop()
	}
	answer.Body = &body{ReadCloser: answer.Body, done: func() { limit.Stop(); cancel(nil) }}
	if answer.StatusCode < http.StatusMultipleChoices {
		return answer, nil
	}
	defer func() { _ = answer.Body.Close() }()
	return nil, c.compare(readProblem(answer), answer.Header.Get(wire.HeaderVersion))
}

// warn reports once that the token expires soon.
func (c *caller) warn(h http.Header) {
	if at, err := time.Parse(time.RFC3339, h.Get(wire.HeaderExpires)); err == nil && c.expiring != nil {
		c.warned.Do(func() { c.expiring(at) })
	}
}

var errLate = errors.New("no answer in time")

func (c *caller) send(ctx context.Context, peer string, q *request) (*http.Response, error) {
	to, err := endpoint.URL(peer, q.path)
	if err != nil {
		return nil, fmt.Errorf("address of a peer: %w", err)
	}
	to.RawQuery = q.query.Encode()
	r, err := http.NewRequestWithContext(ctx, q.method, to.String(), bytes.NewReader(q.body))
	if err != nil {
		return nil, fmt.Errorf("address %q: %w", peer, err)
	}
	media := q.media
	if media == "" {
		media = contentJSON
	}
	if len(q.body) > 0 {
		r.Header.Set(headerContent, media)
	}
	r.Header.Set(headerAccept, media)
	r.Header.Set("User-Agent", c.agent)
	if q.stream {
		r.Header.Set("Te", "trailers")
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	if q.key != "" {
		r.Header.Set(wire.HeaderRequestID, q.key)
	}
	sent := false // or begun to be: a peer may have read all of it before this program knows that it was written
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { sent = true }}
	answer, err := c.http.Do(r.WithContext(httptrace.WithClientTrace(r.Context(), trace)))
	if err = endpoint.Plainly(err); err != nil && sent && q.key != "" {
		q.cut = err
	}
	return answer, err
}

// body ends the call's limits when it is closed.
type body struct {
	io.ReadCloser
	done func()
}

func (b *body) Close() error {
	defer b.done()
	return b.ReadCloser.Close()
}

// readProblem parses an answer that is an error. An error that is not the API's own, such as a
// proxy's page, becomes a problem without its text.
func readProblem(answer *http.Response) *wire.Problem {
	p := &wire.Problem{}
	kind, _, _ := mime.ParseMediaType(answer.Header.Get(headerContent))
	data, err := io.ReadAll(io.LimitReader(answer.Body, maxProblem))
	if err != nil || kind != wire.ProblemType || json.Unmarshal(data, p) != nil || p.Code == "" {
		p = &wire.Problem{Code: "http_" + strconv.Itoa(answer.StatusCode), Detail: "the answer is not from Berth's API: check that this is the address of a peer"}
	}
	if p.Status = answer.StatusCode; p.Title == "" {
		p.Title = http.StatusText(p.Status)
	}
	return p
}

// compare adds to the error of a path, a field or a parameter that a peer does not know that the peer runs another version.
func (c *caller) compare(p *wire.Problem, theirs string) error {
	unknown := p.Status == http.StatusNotFound && strings.HasPrefix(p.Detail, "there is no such path")
	for _, e := range p.Errors {
		unknown = unknown || strings.HasPrefix(e.Message, "is not a field") || strings.Contains(e.Message, "is not a parameter of this path")
	}
	if unknown && c.version != "" && theirs != "" && theirs != c.version {
		p.Errors = append(p.Errors, wire.FieldDetail{
			Field: "versions", Message: fmt.Sprintf("the peer runs %s and this program is %s: what the peer does not know may be new; upgrade the peers first (berth cluster upgrade check), or use the program of their version", theirs, c.version),
		})
	}
	return p
}

// json sends a request and decodes the answer into out, and returns the index of the state that the
// answer shows.
func (c *caller) json(ctx context.Context, q *request, out any) (index uint64, err error) {
	answer, err := c.do(ctx, q)
	if err != nil {
		return 0, err
	}
	defer func() { _ = answer.Body.Close() }()
	if err := json.NewDecoder(io.LimitReader(answer.Body, maxAnswer)).Decode(out); err != nil {
		return 0, fmt.Errorf("reading the answer to %s %s: %w", q.method, q.path, err)
	}
	index, _ = strconv.ParseUint(answer.Header.Get(wire.HeaderIndex), 10, 64)
	return index, nil
}

// change sends a change with a JSON body, under the key or a new one.
func (c *caller) change(ctx context.Context, q *request, in, out any) error {
	if in != nil {
		data, err := encode(in)
		if err != nil {
			return err
		}
		q.body = data
	}
	if q.key == "" {
		key, err := NewKey()
		if err != nil {
			return err
		}
		q.key = key
	}
	_, err := c.json(ctx, q, out)
	return err
}

// errNotUTF8 is the error of a request that JSON cannot represent.
var errNotUTF8 = errors.New("the request holds text that is not valid UTF-8, which JSON cannot carry: convert it")

// encode returns the JSON of a request.
func encode(in any) ([]byte, error) {
	data, err := json.Marshal(in)
	if err == nil && wire.Replaced(data) {
		err = errNotUTF8
	}
	return data, err
}
