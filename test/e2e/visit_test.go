package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// kept is what a crowd was told that it has, and has not tried to give back since.
type kept struct {
	receiver *httptest.Server

	mu    sync.Mutex
	of    map[string]map[string]string // by kind and id, with a token's secret, or the event of a webhook's last trial
	told  map[string]bool              // ids of events that the receiver was told of
	calls map[string]int               // answered without an error, by name
}

func newKept(t *testing.T) *kept {
	k := &kept{of: map[string]map[string]string{}, told: map[string]bool{}, calls: map[string]int{}}
	k.receiver = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var event wire.Notice
		if json.NewDecoder(r.Body).Decode(&event) != nil {
			return
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		k.told[event.ID] = true
	}))
	t.Cleanup(k.receiver.Close)
	return k
}

// keep notes what was acknowledged.
func (k *kept) keep(kind, id, with string, err error) error {
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.of[kind] == nil {
		k.of[kind] = map[string]string{}
	}
	k.of[kind][id] = with
	return nil
}

// spare is now and then one of a kind to be given back: it counts as kept no longer,
// whatever comes of that.
func (k *kept) spare(random *rand.Rand, kind string) string {
	if random.IntN(3) > 0 {
		return "nothing"
	}
	return k.some(random, kind, true)
}

// some is one of a kind; taken, it counts as kept no longer.
func (k *kept) some(random *rand.Rand, kind string, take bool) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	var ids []string
	for id := range k.of[kind] { // order-free: one is drawn
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		return "nothing"
	}
	slices.Sort(ids)
	id := ids[random.IntN(len(ids))]
	if take {
		delete(k.of[kind], id)
	}
	return id
}

// list is what is kept of a kind.
func (k *kept) list(kind string) map[string]string {
	k.mu.Lock()
	defer k.mu.Unlock()
	out := map[string]string{}
	for id, with := range k.of[kind] { // order-free: it makes another map
		out[id] = with
	}
	return out
}

// visit is one client's call.
type visit struct {
	*kept

	api    *client.Client
	bases  []string // of the peers
	random *rand.Rand
	who    int
	id     string // of some job
}

// call is something that the check of jobs does not follow, and that leaves alone whether a
// job waits or was canceled.
type call struct {
	name string
	do   func(ctx context.Context) error
}

// pay makes one call of all there are, and returns an answer that only a defect gives.
func (v *visit) pay(ctx context.Context) error {
	calls := slices.Concat(v.looking(), v.changing(), v.holding(), v.telling(), v.naming())
	c := calls[v.random.IntN(len(calls))]
	err := c.do(ctx)
	if err == nil {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.calls[c.name]++
		return nil
	}
	p, is := errors.AsType[*wire.Problem](err)
	if is && p.Status >= http.StatusInternalServerError && p.Status != http.StatusServiceUnavailable {
		return fmt.Errorf("%s: %w", c.name, p)
	}
	return nil
}

// none takes it for an answer, too, that there is nothing of the kind.
func none(err error) error {
	if p, is := errors.AsType[*wire.Problem](err); is && p.Status == http.StatusNotFound {
		return nil
	}
	return err
}

// raw asks one peer for what the client has no call for.
func (v *visit) raw(ctx context.Context, method, path, body string, out any) error {
	r, err := http.NewRequestWithContext(ctx, method, v.bases[v.random.IntN(len(v.bases))]+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		p := &wire.Problem{Detail: "this is no problem of the API: " + string(data)}
		if json.Unmarshal(data, p) != nil {
			p.Status = http.StatusInternalServerError
		}
		return p
	}
	return json.Unmarshal(data, out)
}

func (v *visit) looking() []call {
	api, id := v.api, v.id
	get := func(path string) call {
		return call{path, func(ctx context.Context) error { return v.raw(ctx, http.MethodGet, path, "", &map[string]any{}) }}
	}
	return []call{
		get("/queue/plan"), get("/cluster/state"), get("/cluster/gpu-status"), get("/gpu/list"), get("/queue/statistics"),
		{"run", func(ctx context.Context) error {
			return none(v.raw(ctx, http.MethodGet, "/runs/"+id, "", &map[string]any{}))
		}},
		{"status", func(ctx context.Context) error { _, err := api.GPUStatus(ctx); return err }},
		{"peers", func(ctx context.Context) error { _, err := api.Peers(ctx); return err }},
		{"orchestrator", func(ctx context.Context) error { _, err := api.Orchestrator(ctx); return err }},
		{"policies", func(ctx context.Context) error { _, err := api.Policies(ctx); return err }},
		{"audit", func(ctx context.Context) error {
			_, err := api.Operator().Audit(ctx, client.AuditQuery{Limit: 20})
			return err
		}},
		{"history", func(ctx context.Context) error {
			_, err := api.Operator().History(ctx, client.HistoryQuery{Limit: 20})
			return err
		}},
		{"usage", func(ctx context.Context) error { _, err := api.Operator().Usage(ctx, client.UsageQuery{}); return err }},
		{"quotas", func(ctx context.Context) error { _, err := api.Operator().Quotas().List(ctx, true); return err }},
		{"settings", func(ctx context.Context) error { _, err := api.Operator().Settings(ctx); return err }},
		{"analyze", func(ctx context.Context) error {
			_, err := api.Lists().Analyze(ctx, &wire.Workload{Type: "training", Data: map[string]any{"model_size": "7B"}})
			return err
		}},
	}
}

func (v *visit) changing() []call {
	one, api, id := int64(1), v.api, v.id
	return []call{
		{"hold", func(ctx context.Context) error {
			_, err := api.Controls().Hold(ctx, id, client.AllTasks, "")
			return err
		}},
		{"let go", func(ctx context.Context) error {
			_, err := api.Controls().Release(ctx, id, client.AllTasks, "")
			return err
		}},
		{"priority", func(ctx context.Context) error { _, err := api.SetPriority(ctx, id, 1+v.random.Int64N(4)); return err }},
		{"quota", func(ctx context.Context) error {
			_, err := api.Operator().Quotas().Set(ctx, "user", "bob", &wire.SetQuota{GPUs: &wire.OrNone[int64]{Value: 5 + v.random.Int64N(9)}})
			return err
		}},
		{"try out", func(ctx context.Context) error {
			_, err := api.TryOut(ctx, &wire.Submit{User: "bob", Command: "true", GPUs: &one})
			return err
		}},
		{"logs", func(ctx context.Context) error { // there are none of a job that waits
			out, err := api.Logs(ctx, id, client.LogQuery{})
			if err == nil {
				_, err = io.Copy(io.Discard, out)
				_ = out.Close()
			}
			return none(err)
		}},
		{"events", func(ctx context.Context) error {
			ctx, stop := context.WithTimeout(ctx, 300*time.Millisecond)
			defer stop()
			err := api.Lists().Events(ctx, client.EventQuery{Last: 5}, func(*wire.Notice) error { return io.EOF })
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}},
	}
}

func (v *visit) holding() []call {
	services, ops := client.ServicesOf(v.api), v.api.Operator()
	hour := wire.Duration(time.Hour)
	return []call{
		{"allocate", func(ctx context.Context) error {
			out, err := services.Allocate(ctx, &wire.Allocate{Service: "web", User: "alice"})
			return v.keep("allocation", out.AllocationID, "", err)
		}},
		{"renew", func(ctx context.Context) error {
			_, err := services.Renew(ctx, v.some(v.random, "allocation", false), &hour)
			return err
		}},
		{"release", func(ctx context.Context) error {
			_, err := services.Release(ctx, v.spare(v.random, "allocation"))
			return err
		}},
		{"allocation", func(ctx context.Context) error {
			_, _, err := services.Allocation(ctx, v.some(v.random, "allocation", false), client.JobQuery{})
			return err
		}},
		{"allocations", func(ctx context.Context) error {
			_, err := services.Allocations(ctx, client.AllocationsQuery{})
			return err
		}},
		{"allocate for a job", func(ctx context.Context) error {
			job, out := fmt.Sprintf("run-%d-%d", v.who, v.random.IntN(1<<30)), wire.Allocated{}
			err := v.raw(ctx, http.MethodPost, "/cluster/gpu-allocate", `{"job_id": "`+job+`", "gpu_count": 1}`, &out)
			return v.keep("for job", job, "", err)
		}},
		{"release for a job", func(ctx context.Context) error {
			body := `{"job_id": "` + v.spare(v.random, "for job") + `"}`
			return v.raw(ctx, http.MethodPost, "/cluster/gpu-release", body, &map[string]any{})
		}},
		{"reserve", func(ctx context.Context) error { // on a node that is not there
			_, err := ops.Reserve(ctx, &wire.Reserve{User: "alice", Nodes: []string{"n1"}, Start: "+2h", Duration: &hour})
			return none(err)
		}},
		{"reservations", func(ctx context.Context) error { _, err := ops.Reservations(ctx); return err }},
	}
}

func (v *visit) telling() []call {
	hooks := v.api.Operator().Webhooks()
	return []call{
		{"add a webhook", func(ctx context.Context) error {
			out, err := hooks.Add(ctx, &wire.SetWebhook{URL: v.receiver.URL, Events: []string{"node.dead"}})
			if err != nil {
				return err
			}
			return v.keep("webhook", out.Webhook.ID, "", nil)
		}},
		{"webhooks", func(ctx context.Context) error { _, err := hooks.List(ctx); return err }},
		{"try a webhook", func(ctx context.Context) error {
			id := v.some(v.random, "webhook", true)
			out, err := hooks.Test(ctx, id)
			return v.keep("webhook", id, out.EventID, err)
		}},
		{"remove a webhook", func(ctx context.Context) error {
			_, err := hooks.Remove(ctx, v.spare(v.random, "webhook"))
			return err
		}},
		{"deliveries", func(ctx context.Context) error { _, err := hooks.Deliveries(ctx, client.DeliveryQuery{}); return err }},
	}
}

func (v *visit) naming() []call {
	people := client.PeopleOf(v.api)
	return []call{
		{"make a token", func(ctx context.Context) error {
			out, err := people.MakeToken(ctx, &wire.MakeToken{User: fmt.Sprint("user", v.who), Role: "user"})
			return v.keep("token", out.ID, out.Secret, err)
		}},
		{"tokens", func(ctx context.Context) error { _, err := people.Tokens(ctx, ""); return err }},
		{"revoke a token", func(ctx context.Context) error {
			_, err := people.DropToken(ctx, v.spare(v.random, "token"))
			return err
		}},
	}
}
