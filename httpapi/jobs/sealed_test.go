package jobs_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/sealing"
	"github.com/berth-gpu/berth/fsm/state/snapshot"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// stored returns a state as it is on disk.
func stored(s *apitest.Site) string {
	s.T.Helper()
	var out bytes.Buffer
	state := s.State()
	if err := snapshot.Write(&state, &out); err != nil {
		s.T.Fatal(err)
	}
	return out.String()
}

// What jobs run with, and the secrets of webhooks, are in no state as they are; the API opens them for their user.
func TestSecretsAreSealed(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	s.Submit(apitest.Texts).Into(new(wire.Submitted))
	hook := "whsec_" + "UExBTlRFRFBMQU5URURQTEFOVEVEUExBTlRFRA==" // PLANTED several times
	s.Do(http.MethodPost, "/webhooks", `{"url":"https://hooks.example.com/x","secret":"`+hook+`"}`).Into(new(wire.WebhookMade))
	s.Do(http.MethodPut, "/webhooks/settings", `{"secret":"`+hook+`"}`).Into(new(wire.WebhookMade))
	s.Do(http.MethodPut, "/webhooks/settings", `{"backlog":7}`).Into(new(wire.WebhookMade)) // the secret stays, and is not sealed twice
	stored := stored(s)
	for _, text := range []string{apitest.Planted, "UExBTlRFRA", hook} {
		if strings.Contains(stored, text) {
			t.Errorf("the state holds %q", text)
		}
	}
	if !strings.Contains(stored, model.SealedPrefix) {
		t.Error("nothing is sealed")
	}
	state := s.State()
	if got := s.Opened(state.Settings().Notify.Secret); got != hook {
		t.Errorf("the secret of notices is %q", got)
	}
	var spec wire.Submit
	s.Do(http.MethodGet, "/jobs/1/spec", "").Into(&spec)
	if spec.Script != "#!/bin/sh\necho PLANTED" || spec.Stdin != "UExBTlRFRA==" || spec.Env["A"] != apitest.Planted || spec.Shell["B"] != apitest.Planted {
		t.Errorf("the submission is %+v", spec)
	}
}

// Jobs with the same texts share them, although these are sealed.
func TestSealedTextsAreShared(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	s.Submit(apitest.Texts).Into(new(wire.Submitted))
	state := s.State()
	had := state.Blobs.Len()
	s.Submit(apitest.Texts).Into(new(wire.Submitted))
	if state = s.State(); state.Blobs.Len() != had || had != 4 {
		t.Errorf("%d texts of one job, %d of two", had, state.Blobs.Len())
	}
}

// A client cannot bring a sealed text: that of another user, out of a stolen log, would be opened for the client's job.
func TestASealedTextOfAClientIsRefused(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	sealed, err := s.Ring.Seal("A=1")
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(sealed)
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{`{"script":%}`, `{"command":"x","stdin":%}`, `{"command":"x","env":{%:"1"}}`, `{"command":"x","submit_env":{%:"1"}}`} {
		if r := s.Submit(strings.ReplaceAll(body, "%", string(text))); r.Status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d %s", body, r.Status, r.Body)
		}
	}
	s.Do(http.MethodPost, "/webhooks", `{"url":"https://x","secret":`+string(text)+`}`).About("secret")
	s.Do(http.MethodPut, "/webhooks/settings", `{"secret":`+string(text)+`}`).About("secret")
	if state := s.State(); state.Jobs.Len()+state.Webhooks.Len() > 0 {
		t.Error("something was made all the same")
	}
}

// A peer that lacks the key of a text says so, names the key, and reports that it lacks one.
func TestATextWhoseKeyIsMissing(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	s.Submit(apitest.Texts).Into(new(wire.Submitted))
	id := sealing.KeyID(s.Ring.Keys()[0])
	empty, err := sealing.NewRing(sealing.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	s.API.Config.Sealing = empty
	r := s.Do(http.MethodGet, "/jobs/1/spec", "")
	r.Problem(http.StatusServiceUnavailable, wire.CodeBehind)
	if !strings.Contains(string(r.Body), id) || !strings.Contains(string(r.Body), "secrets_key") {
		t.Errorf("answered %s", r.Body)
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
	s := apitest.NewGuarded(t)
	s.Do(http.MethodPost, "/queue/submit", apitest.Texts, apitest.As(apitest.Ann)...).Into(new(wire.Submitted))
	s.Do(http.MethodDelete, "/jobs/1/spec", "", apitest.As(apitest.Ann)...).Problem(http.StatusConflict, "conflict")
	s.Do(http.MethodDelete, "/queue/1", "", apitest.As(apitest.Ann)...).Into(new(wire.Done))
	s.Do(http.MethodDelete, "/jobs/1/spec", "", apitest.As(apitest.Bob)...).Problem(http.StatusForbidden, "denied")
	before := s.State()
	s.Do(http.MethodDelete, "/jobs/1/spec", "", apitest.As(apitest.Ann)...).Into(new(wire.Done))
	after := s.State()
	if before.Blobs.Len() != 4 || after.Blobs.Len() != 0 {
		t.Errorf("%d texts before, %d after", before.Blobs.Len(), after.Blobs.Len())
	}
	s.Do(http.MethodDelete, "/jobs/1/spec", "", apitest.As(apitest.Ann)...).Into(new(wire.Done)) // again
	r := s.Do(http.MethodGet, "/jobs/1/spec", "", apitest.As(apitest.Ann)...)
	r.Problem(http.StatusNotFound, wire.CodeNotFound)
	if !strings.Contains(string(r.Body), "were removed at") {
		t.Errorf("answered %s", r.Body)
	}
	var d wire.Detail
	s.Do(http.MethodGet, "/jobs/1", "", apitest.As(apitest.Ann)...).Into(&d)
	if d.PurgedAt.IsZero() {
		t.Errorf("the job is %+v", d)
	}
	s.Do(http.MethodDelete, "/jobs/99/spec", "", apitest.As(apitest.Ann)...).Problem(http.StatusNotFound, wire.CodeNotFound)
}
