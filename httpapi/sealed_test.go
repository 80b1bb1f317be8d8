package httpapi

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/sealing"
	"github.com/berth-gpu/berth/fsm/state/snapshot"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// planted stands in every text that is sealed.
const planted = "PLANTED"

// texts is a submission with the planted word in all that is sealed.
const texts = `{"script":"#!/bin/sh\necho PLANTED","stdin":"UExBTlRFRA==","env":{"A":"PLANTED"},"submit_env":{"B":"PLANTED"},"gpu_count":1}`

// stored returns a state as it is on disk.
func (s *site) stored() string {
	s.t.Helper()
	var out bytes.Buffer
	state := s.State()
	if err := snapshot.Write(&state, &out); err != nil {
		s.t.Fatal(err)
	}
	return out.String()
}

// What jobs run with, and the secrets of webhooks, are in no state as they are; the API opens them for their user.
func TestSecretsAreSealed(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.submit(texts).into(new(wire.Submitted))
	hook := "whsec_" + "UExBTlRFRFBMQU5URURQTEFOVEVEUExBTlRFRA==" // PLANTED several times
	s.do(http.MethodPost, "/webhooks", `{"url":"https://hooks.example.com/x","secret":"`+hook+`"}`).into(new(wire.WebhookMade))
	s.do(http.MethodPut, "/webhooks/settings", `{"secret":"`+hook+`"}`).into(new(wire.WebhookMade))
	s.do(http.MethodPut, "/webhooks/settings", `{"backlog":7}`).into(new(wire.WebhookMade)) // the secret stays, and is not sealed twice
	stored := s.stored()
	for _, text := range []string{planted, "UExBTlRFRA", hook} {
		if strings.Contains(stored, text) {
			t.Errorf("the state holds %q", text)
		}
	}
	if !strings.Contains(stored, model.SealedPrefix) {
		t.Error("nothing is sealed")
	}
	state := s.State()
	if got := s.opened(state.Settings().Notify.Secret); got != hook {
		t.Errorf("the secret of notices is %q", got)
	}
	var spec wire.Submit
	s.do(http.MethodGet, "/jobs/1/spec", "").into(&spec)
	if spec.Script != "#!/bin/sh\necho PLANTED" || spec.Stdin != "UExBTlRFRA==" || spec.Env["A"] != planted || spec.Shell["B"] != planted {
		t.Errorf("the submission is %+v", spec)
	}
}

// Jobs with the same texts share them, although these are sealed.
func TestSealedTextsAreShared(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.submit(texts).into(new(wire.Submitted))
	state := s.State()
	had := state.Blobs.Len()
	s.submit(texts).into(new(wire.Submitted))
	if state = s.State(); state.Blobs.Len() != had || had != 4 {
		t.Errorf("%d texts of one job, %d of two", had, state.Blobs.Len())
	}
}

// Below the feature level that knows sealed texts none is sealed.
func TestNothingIsSealedBelowItsLevel(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	old := statetest.Empty(t)
	old.Unchecked = true
	old.Do(&command.Bootstrap{
		Incarnation: statetest.Incarnation(1), Level: 4, Running: true, Policy: "fcfs", Retention: model.Retention{Jobs: 10_000, Age: 7 * 24 * time.Hour},
	})
	s.one.cluster = old
	s.submit(texts).into(new(wire.Submitted))
	if stored := s.stored(); !strings.Contains(stored, planted) || strings.Contains(stored, model.SealedPrefix) {
		t.Error("a text is sealed")
	}
}

// A client cannot bring a sealed text: that of another user, out of a stolen log, would be opened for the client's job.
func TestASealedTextOfAClientIsRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	sealed, err := s.ring.Seal("A=1")
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(sealed)
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{`{"script":%}`, `{"command":"x","stdin":%}`, `{"command":"x","env":{%:"1"}}`, `{"command":"x","submit_env":{%:"1"}}`} {
		if r := s.submit(strings.ReplaceAll(body, "%", string(text))); r.status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d %s", body, r.status, r.body)
		}
	}
	s.do(http.MethodPost, "/webhooks", `{"url":"https://x","secret":`+string(text)+`}`).about("secret")
	s.do(http.MethodPut, "/webhooks/settings", `{"secret":`+string(text)+`}`).about("secret")
	if state := s.State(); state.Jobs.Len()+state.Webhooks.Len() > 0 {
		t.Error("something was made all the same")
	}
}

// A peer that lacks the key of a text says so, names the key, and reports that it lacks one.
func TestATextWhoseKeyIsMissing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.submit(texts).into(new(wire.Submitted))
	id := sealing.KeyID(s.ring.Keys()[0])
	empty, err := sealing.NewRing(sealing.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	s.api.Config.Sealing = empty
	r := s.do(http.MethodGet, "/jobs/1/spec", "")
	r.problem(http.StatusServiceUnavailable, wire.CodeBehind)
	if !strings.Contains(string(r.body), id) || !strings.Contains(string(r.body), "secrets_key") {
		t.Errorf("answered %s", r.body)
	}
	select {
	case <-empty.Lacks():
	default:
		t.Error("the ring does not know that it lacks a key")
	}
}

// A user purges own jobs that have ended; then neither the state nor an answer has what they ran with.
func TestPurge(t *testing.T) {
	t.Parallel()
	s := newGuarded(t)
	s.do(http.MethodPost, "/queue/submit", texts, as(ann)...).into(new(wire.Submitted))
	s.do(http.MethodDelete, "/jobs/1/spec", "", as(ann)...).problem(http.StatusConflict, "conflict")
	s.do(http.MethodDelete, "/queue/1", "", as(ann)...).into(new(wire.Done))
	s.do(http.MethodDelete, "/jobs/1/spec", "", as(bob)...).problem(http.StatusForbidden, "denied")
	before := s.State()
	s.do(http.MethodDelete, "/jobs/1/spec", "", as(ann)...).into(new(wire.Done))
	after := s.State()
	if before.Blobs.Len() != 4 || after.Blobs.Len() != 0 {
		t.Errorf("%d texts before, %d after", before.Blobs.Len(), after.Blobs.Len())
	}
	s.do(http.MethodDelete, "/jobs/1/spec", "", as(ann)...).into(new(wire.Done)) // again
	r := s.do(http.MethodGet, "/jobs/1/spec", "", as(ann)...)
	r.problem(http.StatusNotFound, wire.CodeNotFound)
	if !strings.Contains(string(r.body), "were removed at") {
		t.Errorf("answered %s", r.body)
	}
	var d wire.Detail
	s.do(http.MethodGet, "/jobs/1", "", as(ann)...).into(&d)
	if d.PurgedAt.IsZero() {
		t.Errorf("the job is %+v", d)
	}
	s.do(http.MethodDelete, "/jobs/99/spec", "", as(ann)...).problem(http.StatusNotFound, wire.CodeNotFound)
}
