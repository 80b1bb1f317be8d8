package core

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/berth-gpu/berth/cluster/soft"
	"github.com/berth-gpu/berth/httpapi/agentwire"
	"github.com/berth-gpu/berth/httpapi/endpoint"
)

// Bounds of requests for telemetry.
const (
	samplesEvery = time.Second // while there are readers
	samplesLimit = 500 * time.Millisecond
)

// mirror is this peer's copy of what only the leader knows.
type mirror struct {
	fetch func(context.Context) (agentwire.Samples, error)

	mu   sync.Mutex
	at   time.Time
	last agentwire.Samples
}

func newMirror(fetch func(context.Context) (agentwire.Samples, error)) *mirror {
	return &mirror{fetch: fetch}
}

// Get returns what the leader knows. The leader is asked at most once a second; while it cannot be
// asked, the ages of the copy grow.
func (m *mirror) Get(ctx context.Context) agentwire.Samples {
	m.mu.Lock()
	defer m.mu.Unlock()
	if time.Since(m.at) >= samplesEvery {
		now, err := m.fetch(ctx)
		if err != nil {
			now.Readings = older(m.last.Readings, time.Since(m.at))
		}
		m.last, m.at = now, time.Now()
	}
	out := m.last
	out.Readings = older(m.last.Readings, time.Since(m.at))
	return out
}

// older returns the readings with higher ages.
func older(list []agentwire.Reading, by time.Duration) []agentwire.Reading {
	out := make([]agentwire.Reading, 0, len(list))
	for _, r := range list {
		if r.Age += by; r.Age <= soft.Kept {
			out = append(out, r)
		}
	}
	return out
}

// NodeLimit bounds how long a node may take to begin with a log.
const NodeLimit = 3 * time.Second

// NewRequest returns a request to an agent.
func NewRequest(ctx context.Context, method, address, target string, body []byte) (*http.Request, error) {
	to, err := endpoint.URL(address, target)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, method, to.String(), bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("address %q: %w", address, err)
	}
	r.Header.Set("User-Agent", "berth")
	return r, nil
}
