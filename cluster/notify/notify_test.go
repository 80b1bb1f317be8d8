package notify

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/outbox"
	"github.com/berth-gpu/berth/httpapi/wire"
)

func noticeOfAJob() *model.Notice {
	at := model.TimeOf(time.Date(2026, 11, 10, 8, 30, 0, 0, time.UTC))
	return &model.Notice{
		Life: 0xbe000000, Index: 1234, Ordinal: 2, Kind: model.NoticeJobFailed, At: at, Actor: "node:n1", Job: 17, N: 1,
		Name: `llama "7b"`, User: "alice", Project: "vision", Priority: 3, Since: at.Add(-5 * time.Minute), Reason: model.ReasonExit,
		Detail: "exit code 3",
	}
}

func TestIDs(t *testing.T) {
	n := noticeOfAJob()
	life := model.Incarnation{0xbe}
	if ID(n) != "be000000-1234-2" || PlaceID(life, n.Place()) != ID(n) {
		t.Errorf("the id is %s", ID(n))
	}
	p, here, ok := ParseID(ID(n), life)
	if p != n.Place() || !here || !ok {
		t.Errorf("it reads as %+v %t %t", p, here, ok)
	}
	if _, here, ok := ParseID(ID(n), model.Incarnation{1}); here || !ok {
		t.Error("the id of another life is not told apart")
	}
	for _, text := range []string{"", "x", "1-2-3", "be000000-1", "be000000--1", "be000000-1-2-3", "zz000000-1-2", "be000000-1-99999999999", "be000000-ä-1"} {
		if _, _, ok := ParseID(text, life); ok {
			t.Errorf("%q passes for an id", text)
		}
	}
}

func TestEvents(t *testing.T) {
	data, err := json.Marshal(EventOf(noticeOfAJob()))
	want := `{"id":"be000000-1234-2","type":"job.failed","timestamp":"2026-11-10T08:30:00Z","actor":"node:n1","target":"job 17","result":"exit code 3",` +
		`"data":{"job_id":"17","attempt":1,"name":"llama \"7b\"","user":"alice","project":"vision","priority":3,"reason":"exited","detail":"exit code 3",` +
		`"submitted_at":"2026-11-10T08:25:00Z"}}`
	if err != nil || string(data) != want {
		t.Errorf("told\n%s\nwant\n%s", data, want)
	}
	for _, v := range []struct {
		n              model.Notice
		target, result string
	}{
		{model.Notice{Kind: model.NoticeNodeSuspect, Node: "n1"}, "node n1", ""},
		{model.Notice{Kind: model.NoticeGPUQuarantined, Node: "n1", GPU: "GPU-1", Detail: "Xid 79"}, "GPU GPU-1 of node n1", "Xid 79"},
		{model.Notice{Kind: model.NoticeJobStarted, Job: 3, Task: 7, Part: true}, "job 3 task 7", ""},
		{model.Notice{Kind: model.NoticeJobPreempted, Job: 3, Reason: model.ReasonPreempt}, "job 3", "preempted"},
		{model.Notice{Kind: model.NoticeJobCanceled, Job: 3, Reason: model.ReasonCancel, Detail: "enough"}, "job 3", "canceled: enough"},
		{model.Notice{Kind: model.NoticeAllocationLost, Allocation: "a1", Node: "n1"}, "allocation a1", ""},
		{model.Notice{Kind: model.NoticeLeader, Peer: "p2", Detail: "term 4"}, "peer p2", "term 4"},
		{model.Notice{Kind: model.NoticeBacklog, Count: 9}, "queue", ""},
	} {
		if e := EventOf(&v.n); e.Target != v.target || e.Result != v.result {
			t.Errorf("%s is of %q, %q", e.Type, e.Target, e.Result)
		}
	}
}

// The webhook of an allocation gets what the owner has published, to the letter.
func TestTheAllocationsPayload(t *testing.T) {
	at := model.TimeOf(time.Date(2024, 11, 10, 8, 30, 0, 0, time.UTC))
	n := &model.Notice{
		Index: 9, Ordinal: 1, Kind: model.NoticeAllocationGranted, At: at, Since: at.Add(-5 * time.Minute), Allocation: "training-1234567890",
		Name: "training", Places: "10 9 1 0", Node: "n1", Priority: 5,
	}
	m := &Message{}
	key := outbox.Key{Index: 9, Ordinal: 1, Outlet: outbox.OfAllocation(n.Allocation)}
	if err := m.encode(&outbox.Delivery{Key: key, Notice: *n}); err != nil {
		t.Fatal(err)
	}
	// The published shape; its GPUs ascend, whatever the order in which they were chosen.
	const published = `{
  "status": "allocated",
  "request_id": "training-1234567890",
  "allocation": {
    "id": "training-1234567890",
    "service_name": "training",
    "gpu_ids": [0, 1, 9, 10],
    "allocated_at": "2024-11-10T08:30:00Z",
    "priority": 5
  },
  "submitted_at": "2024-11-10T08:25:00Z",
  "allocated_at": "2024-11-10T08:30:00Z",
  "wait_time_seconds": 300
}`
	want := strings.NewReplacer(" ", "", "\n", "").Replace(published)
	if string(m.Body) != want {
		t.Errorf("sent\n%s\nwant\n%s", m.Body, want)
	}
	n.Kind = model.NoticeAllocationLost
	if grantedOf(n).Status != "lost" {
		t.Error("an allocation that was lost passes for granted")
	}
	if err := m.encode(&outbox.Delivery{Key: outbox.Key{Outlet: "webhook:all"}, Notice: *n}); err != nil || !strings.Contains(string(m.Body), `"allocation.lost"`) {
		t.Errorf("a webhook gets %s", m.Body)
	}
}

// The example of the standard-webhooks specification.
func TestSignature(t *testing.T) {
	h := http.Header{}
	sign(h, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
	if got := h.Get("webhook-signature"); got != "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=" {
		t.Errorf("signed %s", got)
	}
	if h.Get("webhook-id") != "msg_p5jXN8AQM9LWM0D4loKWxJek" || h.Get("webhook-timestamp") != "1614265330" {
		t.Errorf("the headers are %v", h)
	}
	h = http.Header{}
	sign(h, "", "msg", time.Unix(1, 0), nil)
	if h.Get("webhook-signature") != "" || h.Get("webhook-id") != "msg" {
		t.Errorf("unsigned, the headers are %v", h)
	}
}

// slack is the example in docs/notifications.md.
const slack = `{"text": {{json (clip 300 .target)}}, "blocks": [{"type": "section", "text": {"type": "mrkdwn", "text":
{{if eq .type "job.failed"}}{{json .data.name}}{{else}}{{json .type}}{{end}} }}]}`

func TestTemplates(t *testing.T) {
	example, err := ParseTemplate(slack)
	if err != nil {
		t.Fatal(err)
	}
	body, err := example.Render(EventOf(noticeOfAJob()))
	if err != nil || !json.Valid(body) || !strings.Contains(string(body), `"llama \"7b\""`) {
		t.Errorf("%v: %s", err, body)
	}
	for source, want := range map[string]string{
		"{{upper .target}} {{.data.user}}":                    "JOB 17 alice",
		"{{default \"nobody\" .data.nothing}}":                "nobody",
		"{{time \"15:04\" .timestamp}}":                       "08:30",
		"{{with .data.project}}{{.}}{{end}}":                  "vision",
		"{{if and (eq .type \"x\") .actor}}a{{else}}b{{end}}": "b",
		"{{clip 3 .target}}{{/* a comment */}}":               "job",
		"{{.data.wait_seconds}}":                              "<no value>",
		"{{json .data.gpu_ids}} {{$.type}} {{(.data).user}}":  "null job.failed alice",
		strings.Repeat("x", 100) + "{{lower .data.name}}":     strings.Repeat("x", 100) + `llama "7b"`,
	} {
		v, err := ParseTemplate(source)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		if got, err := v.Render(EventOf(noticeOfAJob())); err != nil || string(got) != want {
			t.Errorf("%s gives %q, %v; want %q", source, got, err, want)
		}
	}
}

// What could run long, or make much of little, is refused when it is set.
func TestTemplatesThatAreRefused(t *testing.T) {
	for _, source := range []string{
		"{{", "{{range .data}}x{{end}}", "{{range 1000000000}}x{{end}}", `{{define "a"}}{{template "a"}}{{end}}{{template "a"}}`,
		`{{block "a" .}}x{{end}}`, `{{printf "%1000000000d" 1}}`, "{{call .x}}", "{{html .type}}", "{{$x := .type}}{{$x}}", "{{index .data \"user\"}}",
		"{{print .type}}", "{{.timestamp.Format \"x\"}}", "{{len .type}}", "{{slice .type 1}}", "{{if true}}{{range .data}}{{end}}{{end}}",
		"{{with .data}}{{break}}{{end}}", "{{json (printf \"%d\" 1)}}", "{{if (len .type)}}x{{end}}", "{{.type | printf}}",
		strings.Repeat("x", maxRendered+1),
	} {
		if _, err := ParseTemplate(source); err == nil {
			t.Errorf("%.60q is taken", source)
		}
	}
}

func FuzzTemplate(f *testing.F) {
	f.Add(slack)
	f.Add("{{range .}}{{end}}")
	f.Fuzz(func(t *testing.T, source string) {
		v, err := ParseTemplate(source)
		if err != nil || len(source) > outbox.MaxTemplate {
			return
		}
		if body, err := v.Render(EventOf(noticeOfAJob())); err == nil && len(body) > maxRendered {
			t.Errorf("%d bytes come of %d", len(body), len(source))
		}
	})
}

// Every kind has a name, and a name is of one kind.
func TestKindsHaveNames(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range model.NoticeKinds() {
		if seen[k.String()] || k.String() == "unknown" {
			t.Errorf("%d is called %s", k, k)
		}
		seen[k.String()] = true
	}
	if seen[wire.EventReset] {
		t.Error("a kind of notices has the name of a reset")
	}
}
