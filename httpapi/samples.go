package httpapi

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/berth-gpu/berth/cluster/soft"
	"github.com/berth-gpu/berth/httpapi/agentwire"
	"github.com/berth-gpu/berth/httpapi/forward"
)

// Bounds of fetching what GPUs measure.
const (
	samplesEvery = time.Second // while somebody looks
	samplesLimit = 500 * time.Millisecond
)

// mirror is the leader's board as this peer has last seen it.
type mirror struct {
	fetch func(context.Context) ([]soft.Reading, error)

	mu   sync.Mutex
	at   time.Time
	list []soft.Reading
}

func newMirror(fetch func(context.Context) ([]soft.Reading, error)) *mirror {
	return &mirror{fetch: fetch}
}

// all lists the newest sample of every GPU. It asks at most once a second; while
// the leader cannot be asked, what it has said grows older.
func (m *mirror) all(ctx context.Context) []soft.Reading {
	m.mu.Lock()
	defer m.mu.Unlock()
	if time.Since(m.at) >= samplesEvery {
		list, err := m.fetch(ctx)
		if err != nil {
			list = older(m.list, time.Since(m.at))
		}
		m.list, m.at = list, time.Now()
	}
	return older(m.list, time.Since(m.at))
}

// older are the readings after some more time.
func older(list []soft.Reading, by time.Duration) []soft.Reading {
	out := make([]soft.Reading, 0, len(list))
	for _, r := range list {
		if r.Age += by; r.Age <= soft.Kept {
			out = append(out, r)
		}
	}
	return out
}

// fetchSamples asks the leader.
func (a *API) fetchSamples(ctx context.Context) ([]soft.Reading, error) {
	leader, _ := a.peer.Members.Leader()
	if leader.Self {
		return a.peer.Telemetry.All(), nil
	}
	ctx, cancel := context.WithTimeout(ctx, samplesLimit)
	defer cancel()
	var got agentwire.Samples
	if err := a.askPeer(ctx, leader, agentwire.PathSamples, nil, &got); err != nil {
		return nil, err
	}
	out := make([]soft.Reading, 0, len(got.Readings))
	for _, r := range got.Readings {
		out = append(out, soft.Reading{Sample: r.Sample, Age: r.Age})
	}
	return out, nil
}

// askPeer asks another peer in CBOR; answer may be nil.
func (a *API) askPeer(ctx context.Context, peer forward.Leader, path string, question, answer any) error {
	body, err := agentwire.Encode(question)
	if err != nil {
		return err
	}
	r, err := newRequest(ctx, http.MethodPost, peer.Address, path, body)
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", agentwire.MediaType)
	got, err := a.out.RoundTrip(r)
	if err != nil {
		return err
	}
	defer func() { _ = got.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(got.Body, maxPeerAnswer))
	switch {
	case err != nil:
		return err
	case got.StatusCode >= http.StatusMultipleChoices:
		return fmt.Errorf("peer %s at %s answers %s to %s", peer.ID, peer.Address, got.Status, path)
	case answer == nil:
		return nil
	}
	return agentwire.Decode(data, answer)
}
