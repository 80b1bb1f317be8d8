package core

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/berth-gpu/berth/httpapi/agentwire"
	"github.com/berth-gpu/berth/httpapi/forward"
)

// fetchSamples asks the leader.
func (a *API) fetchSamples(ctx context.Context) (out agentwire.Samples, err error) {
	leader, _ := a.Peer.Members.Leader()
	if leader.Self {
		return a.OwnSamples(), nil
	}
	ctx, cancel := context.WithTimeout(ctx, samplesLimit)
	defer cancel()
	return out, a.AskPeer(ctx, leader, agentwire.PathSamples, nil, &out)
}

// presentSamples returns what the leader knows, within a time that suits a request for metrics.
func (a *API) presentSamples() agentwire.Samples {
	ctx, cancel := context.WithTimeout(context.Background(), samplesLimit+100*time.Millisecond)
	defer cancel()
	return a.Samples.Get(ctx)
}

// OwnSamples returns what this peer knows as the leader.
func (a *API) OwnSamples() agentwire.Samples {
	st := a.Peer.Members.Standing()
	out := agentwire.Samples{Passes: st.Passes, PassesTook: st.PassesTook}
	for _, r := range a.Peer.Telemetry.All() {
		out.Readings = append(out.Readings, agentwire.Reading{Sample: r.Sample, Age: r.Age})
	}
	return out
}

// AskPeer asks another peer in CBOR; answer may be nil.
func (a *API) AskPeer(ctx context.Context, peer forward.Leader, path string, question, answer any) error {
	body, err := agentwire.Encode(question)
	if err != nil {
		return err
	}
	r, err := NewRequest(ctx, http.MethodPost, peer.Address, path, body)
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", agentwire.MediaType)
	a.Gate.prover.Sign(r, body)
	got, err := a.Out.RoundTrip(r)
	if err != nil {
		return err
	}
	defer func() { _ = got.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(got.Body, MaxPeerAnswer))
	switch {
	case err != nil:
		return err
	case got.StatusCode >= http.StatusMultipleChoices:
		return fmt.Errorf("peer %s at %s answers with status %s to %s", peer.ID, peer.Address, got.Status, path)
	case answer == nil:
		return nil
	}
	return agentwire.Decode(data, answer)
}
