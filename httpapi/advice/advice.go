// Package advice asks other services for estimates of what workloads need, each behind a circuit breaker.
package advice

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/httpapi/workload"
)

// Bounds of requests to other services for advice.
const (
	adviceLimit   = 2 * time.Second
	maxAdvice     = 64 << 10 // bytes of an answer
	failuresMost  = 3        // in a row, until a service is not asked for a while
	leftAloneFor  = 30 * time.Second
	advicePath    = "/gpu/workload" // where the address has no path of its own
	mediaTypeJSON = "application/json"
)

// Adviser is another service that estimates workloads. It answers a POST of a [wire.Workload] with
// any of the values of a [wire.WorkloadPlan].
type Adviser struct {
	Name string // as answers name it
	URL  string // http or https; without a path /gpu/workload is meant
}

// Advisers are all services that are asked for advice.
type Advisers []*adviser

// adviser is one such service behind a circuit breaker: after some failures in a row it is not
// asked for a while, then by one request again.
type adviser struct {
	name, url string
	client    *http.Client

	mu     sync.Mutex
	failed int
	until  time.Time // not to be asked before; the zero time: no limit
}

// New returns advisers that are asked at once.
func New(list []Adviser) Advisers {
	var out Advisers
	for _, a := range list {
		url := strings.TrimRight(a.URL, "/")
		if _, host, _ := strings.Cut(url, "://"); !strings.Contains(host, "/") {
			url += advicePath
		}
		out = append(out, &adviser{name: a.Name, url: url, client: &http.Client{
			Transport:     &http.Transport{MaxIdleConnsPerHost: 4, IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: 16 << 10},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}})
	}
	return out
}

// Ask asks all services at once and waits for the slowest, up to a limit.
func (all Advisers) Ask(ctx context.Context, w *wire.Workload) []workload.Advice {
	return all.askWithin(ctx, w, adviceLimit)
}

func (all Advisers) askWithin(ctx context.Context, w *wire.Workload, limit time.Duration) []workload.Advice {
	if len(all) == 0 {
		return nil
	}
	body, err := json.Marshal(w)
	if err != nil { // it was parsed from JSON
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	out := make([]workload.Advice, len(all))
	var work sync.WaitGroup
	for i, a := range all {
		work.Go(func() { out[i] = a.ask(ctx, body) })
	}
	work.Wait()
	return out
}

// ask asks one service, unless it has failed too often lately.
func (a *adviser) ask(ctx context.Context, body []byte) workload.Advice {
	out := workload.Advice{Name: a.name}
	if wait := a.closed(time.Now()); wait > 0 {
		out.Skipped = true
		out.Failure = fmt.Sprintf("it failed %d times in a row and is not asked for %s", failuresMost, wait.Round(time.Second))
		return out
	}
	answer, err := a.post(ctx, body)
	a.came(err == nil, time.Now())
	if err != nil {
		out.Failure = adviceFailure(err)
	}
	out.Body = answer
	return out
}

// closed returns for how long the service must not be asked; 0: it may be. Once the time is over
// one request is let through, and others wait for its result.
func (a *adviser) closed(now time.Time) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	if wait := a.until.Sub(now); wait > 0 {
		return wait
	}
	if a.failed >= failuresMost {
		a.until = now.Add(leftAloneFor)
	}
	return 0
}

func (a *adviser) came(well bool, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if well {
		a.failed, a.until = 0, time.Time{}
		return
	}
	if a.failed++; a.failed >= failuresMost {
		a.until = now.Add(leftAloneFor)
	}
}

// errUseless is the error of an answer that cannot be read.
var errUseless = errors.New("its answer is not a JSON object")

func (a *adviser) post(ctx context.Context, body []byte) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, a.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", mediaTypeJSON)
	r.Header.Set("Accept", mediaTypeJSON)
	got, err := a.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = got.Body.Close() }()
	if got.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it answers with status %d", got.StatusCode)
	}
	data, err := io.ReadAll(io.LimitReader(got.Body, maxAdvice+1))
	switch {
	case err != nil:
		return nil, err
	case len(data) > maxAdvice:
		return nil, fmt.Errorf("its answer has more than %d bytes", maxAdvice)
	case !json.Valid(data) || !strings.HasPrefix(strings.TrimSpace(string(data)), "{"):
		return nil, errUseless
	}
	return data, nil
}

// adviceFailure returns why there is no advice, without addresses.
func adviceFailure(err error) string {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("no answer within %s", adviceLimit)
	case errors.Is(err, context.Canceled):
		return "the request has ended"
	}
	if e, is := errors.AsType[interface {
		error
		Timeout() bool
	}](err); is {
		return "it cannot be reached: " + oneLineOf(e)
	}
	return err.Error()
}

// oneLineOf returns the innermost cause of an error.
func oneLineOf(err error) string {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err.Error()
		}
		err = next
	}
}
