package admin_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model/outbox"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/wire"
)

func TestWebhooks(t *testing.T) {
	s := apitest.New(t)
	var made, again wire.WebhookMade
	const body = `{"url":"https://hooks.example.com/services/T0/SECRETPATH?k=1","events":["failed","node.*"],"user":"ann","note":"channel"}`
	s.Do(http.MethodPost, "/webhooks", body, "Idempotency-Key", "key-1").Into(&made)
	h := made.Webhook
	if !made.Success || h == nil || !strings.HasPrefix(made.Secret, "whsec_") || h.User != "ann" || h.Note != "channel" || len(h.Events) != 12 ||
		h.Events[0] != "job.failed" || h.URL != "https://hooks.example.com/..." || h.CreatedAt.IsZero() {
		t.Fatalf("made %+v %+v", made, h)
	}
	s.Do(http.MethodPost, "/webhooks", body, "Idempotency-Key", "key-1").Into(&again)
	if again.Webhook.ID != h.ID || again.Secret != made.Secret {
		t.Errorf("the same request again made %+v", again)
	}
	s.Do(http.MethodPost, "/webhooks", `{"url":"https://elsewhere"}`, "Idempotency-Key", "key-1").Problem(http.StatusConflict, "idempotency_conflict")
	r := s.Do(http.MethodGet, "/webhooks", "")
	var list wire.Webhooks
	r.Into(&list)
	if len(list.Webhooks) != 1 || strings.Contains(string(r.Body), made.Secret) || strings.Contains(string(r.Body), "SECRETPATH") {
		t.Errorf("listed %s", r.Body)
	}
	var changed wire.WebhookMade
	s.Do(http.MethodPut, "/webhooks/"+h.ID, `{"url":"http://other:8080","template":"{{json .type}}"}`).Into(&changed)
	if v := changed.Webhook; changed.Secret != "" || v.User != "" || len(v.Events) != len(list.Events) || v.URL != "http://other:8080" {
		t.Errorf("changed to %+v", v)
	}
	view := s.State()
	if w, _ := view.Webhooks.Get(outbox.WebhookID(h.ID)); s.Opened(w.Secret) != made.Secret {
		t.Error("the secret did not stay")
	}
	s.Do(http.MethodDelete, "/webhooks/"+h.ID, "").Into(&again)
	s.Do(http.MethodDelete, "/webhooks/"+h.ID, "").Problem(http.StatusNotFound, wire.CodeNotFound)
	s.Do(http.MethodPut, "/webhooks/"+h.ID, body).Problem(http.StatusNotFound, wire.CodeNotFound)
	s.Do(http.MethodGet, "/webhooks/"+h.ID+"/deliveries", "").Problem(http.StatusNotFound, wire.CodeNotFound)
}

func TestWebhooksThatAreRefused(t *testing.T) {
	s := apitest.New(t)
	for body, field := range map[string]string{
		`{"url":"ftp://x"}`: "url",
		`{}`:                "url",
		`{"url":"http://169.254.169.254/latest"}`:                            "url",
		`{"url":"https://x","events":["job.exploded"]}`:                      "events",
		`{"url":"https://x","events":[""]}`:                                  "events",
		`{"url":"https://x","user":"a","project":"b"}`:                       "project",
		`{"url":"https://x","user":"a b"}`:                                   "user, project",
		`{"url":"https://x","secret":"short"}`:                               "secret",
		`{"url":"https://x","template":"{{range .}}{{end}}"}`:                "template",
		`{"url":"https://x","template":"` + strings.Repeat("x", 9000) + `"}`: "template",
		`{"url":"https://x","note":"` + strings.Repeat("ä", 300) + `"}`:      "note",
		`{"url":"https://x","colour":"red"}`:                                 "colour",
	} {
		s.Do(http.MethodPost, "/webhooks", body).About(field)
	}
	for body, field := range map[string]string{
		`{"backlog":-1}`: "backlog", `{"backlog":100000000}`: "backlog", `{"allow":"10.0.0.0/99"}`: "allow", `{"secret":"x"}`: "secret",
	} {
		s.Do(http.MethodPut, "/webhooks/settings", body).About(field)
	}
	if view := s.State(); view.Webhooks.Len() != 0 {
		t.Error("something was made all the same")
	}
}

func TestWebhookSettings(t *testing.T) {
	s := apitest.New(t)
	var done wire.WebhookMade
	s.Do(http.MethodPut, "/webhooks/settings", `{"backlog":100,"allow":"*.example.com","secret":"new"}`).Into(&done)
	if !strings.HasPrefix(done.Secret, "whsec_") {
		t.Errorf("the secret is %q", done.Secret)
	}
	var list wire.Webhooks
	s.Do(http.MethodPut, "/webhooks/settings", `{"backlog":50}`)
	s.Do(http.MethodGet, "/webhooks", "").Into(&list)
	if want := (wire.WebhookSettings{Signed: true, Backlog: 50, Allow: "*.example.com"}); list.Settings != want {
		t.Errorf("the settings are %+v", list.Settings)
	}
	s.Do(http.MethodPut, "/webhooks/settings", `{"secret":"none","allow":"","backlog":0}`)
	var none wire.Webhooks
	s.Do(http.MethodGet, "/webhooks", "").Into(&none)
	if none.Settings != (wire.WebhookSettings{}) {
		t.Errorf("the settings are %+v", none.Settings)
	}
}

// Where webhooks may go is asked when they are set, as far as it can be told then.
func TestWhereWebhooksMayGo(t *testing.T) {
	s := apitest.New(t)
	s.Do(http.MethodPut, "/webhooks/settings", `{"allow":"*.example.com,10.0.0.0/8"}`)
	for _, url := range []string{"https://x.example.com/a", "http://10.1.2.3/a", "http://resolves.to.what"} {
		s.Do(http.MethodPost, "/webhooks", `{"url":"`+url+`"}`).Into(&wire.WebhookMade{})
	}
	s.Do(http.MethodPost, "/webhooks", `{"url":"http://192.0.2.1/a"}`).About("url")
	s.Do(http.MethodPut, "/webhooks/settings", `{"allow":"*.example.com"}`)
	s.Do(http.MethodPost, "/webhooks", `{"url":"http://resolves.to.what"}`).About("url")
	s.Submit(`{"command":"x","webhook_url":"https://elsewhere"}`).About("webhook_url")
	s.Do(http.MethodPost, "/gpu/allocate", `{"service_name":"web","webhook_url":"https://elsewhere"}`).About("webhook_url")
	s.Do(http.MethodPost, "/gpu/allocate", `{"service_name":"web","webhook_url":"http://169.254.169.254/"}`).About("webhook_url")
}

// A trial goes the way of all deliveries, and the log shows what came of it.
func TestATrialAndTheLog(t *testing.T) {
	s := apitest.New(t)
	var made, trial wire.WebhookMade
	s.Do(http.MethodPost, "/webhooks", `{"url":"https://x/y","events":["failed"]}`).Into(&made)
	s.Do(http.MethodPost, "/webhooks/"+made.Webhook.ID+"/test", "").Into(&trial)
	if trial.EventID == "" || trial.Webhook.Pending != 1 {
		t.Fatalf("the trial is %+v", trial)
	}
	s.Do(http.MethodPost, "/webhooks/none/test", "").Problem(http.StatusNotFound, wire.CodeNotFound)
	s.Submit(`{"command":"x","webhook_url":"https://y/z","notify":["queued","near-limit"]}`)
	var log wire.Deliveries
	s.Do(http.MethodGet, "/deliveries", "").Into(&log)
	if len(log.Deliveries) != 2 || log.Deliveries[0].To != "job:1" || log.Deliveries[1].EventID != trial.EventID {
		t.Errorf("the log is %+v", log)
	}
	s.With(func(c *statetest.Cluster) {
		for k := range c.State.Outgoing.All() {
			c.Do(&command.MarkDeliveries{Marks: []command.Mark{{
				Key: k.Delivery, Tries: 1, Next: c.Now.Add(1e9), Status: 503, Error: "it answers 503", Took: 5e6,
			}}})
			break
		}
	})
	s.Do(http.MethodGet, "/webhooks/"+made.Webhook.ID+"/deliveries?state=pending", "").Into(&log)
	if len(log.Deliveries) != 1 || log.Deliveries[0].Status != 503 || log.Deliveries[0].TookMilli != 5 || log.Deliveries[0].NextTry.IsZero() {
		t.Errorf("the webhook's log is %+v", log)
	}
	s.Do(http.MethodGet, "/deliveries?state=dead", "").Into(&log)
	if len(log.Deliveries) != 0 {
		t.Errorf("dead are %+v", log)
	}
	s.Do(http.MethodGet, "/deliveries?state=gone", "").About("state")
}

func TestAJobsOwnWebhook(t *testing.T) {
	s := apitest.New(t)
	s.Submit(`{"command":"x","webhook_url":"https://hooks.example.com/path"}`)
	var job wire.Detail
	s.Do(http.MethodGet, "/jobs/1", "").Into(&job)
	if strings.Join(job.Notify, " ") != "job.completed job.failed job.canceled" || job.WebhookURL != "https://hooks.example.com/..." {
		t.Errorf("told are %v, at %s", job.Notify, job.WebhookURL)
	}
	s.Submit(`{"command":"x","notify":["failed"]}`).About("notify")
	s.Submit(`{"command":"x","webhook_url":"https://x","notify":["node.suspect"]}`).About("notify")
	s.Submit(`{"command":"x","webhook_url":"http://169.254.169.254/"}`).About("webhook_url")
}
