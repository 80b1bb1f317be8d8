package root

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// quotaAPI notes what is changed, and tells one user's quota, shares and pools.
type quotaAPI struct {
	*httptest.Server
	asked string
}

func newQuotaAPI(t *testing.T) *quotaAPI {
	f := &quotaAPI{}
	gpus, hours, used, none, period, yields := int64(2), 1.5, 1.5, 0.0, 86400.0, true
	q := wire.Quota{
		Scope: "user", Name: "ann", GPUs: &gpus, GPUHours: &hours, Period: &period, OverQuota: "stop",
		Used: wire.QuotaUse{GPUs: 2, GPUHours: &used},
	}
	answers := map[string]any{
		"/quotas":          &wire.Quotas{Quotas: []wire.Quota{{Scope: "cluster"}, q}},
		"/quotas/cluster":  &wire.Quota{Scope: "cluster", Queued: &gpus, Preemptible: &yields, GPUsPerUser: &gpus},
		"/quotas/user/bob": &wire.Quota{Scope: "user", Name: "bob", GPUs: &gpus, GPUsByDefault: true, Used: wire.QuotaUse{GPUs: 1}},
		"/quotas/user/ann": &q,
		"/quotas/user/cyd": &wire.Quota{Scope: "user", Name: "cyd", GPUHours: &hours, Period: &period, OverQuota: "lower", Used: wire.QuotaUse{GPUHours: &none}},
		"/quotas/user/dan": &wire.Quota{Scope: "user", Name: "dan", GPUHours: &hours, Period: &period, OverQuota: "stop", Used: wire.QuotaUse{GPUHours: &none}},
		"/quotas/user/zed": &wire.Quota{Scope: "user", Name: "zed", GPUs: new(int64)},
		"/shares": &wire.Shares{HalfLife: 604800, Shares: []wire.Share{
			{Shares: 100, GPUHours: 3.25, OfFair: 50, GPUs: 2},
			{User: "ann", Shares: 100, GPUHours: 3.25, OfFair: 50, Lead: 4, GPUs: 2},
		}},
		"/shares/user/ann":         &wire.Weight{Scope: "user", Name: "ann", Shares: 200},
		"/orchestrator/allocation": &wire.Allocation{Mode: "hybrid", Ratio: 0.5, GPUs: 16, Fit: 12, Owned: 10, Kept: 6, Lent: 3},
	}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		f.asked = strings.TrimSpace(r.Method + " " + r.URL.RequestURI() + " " + strings.TrimSpace(string(body)))
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(answers[r.URL.Path]); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(f.Close)
	t.Setenv("BERTH_ADDRESS", strings.TrimPrefix(f.URL, "http://"))
	return f
}

// Each command line asks for what it says, and prints what came.
func TestQuotaCommands(t *testing.T) {
	f := newQuotaAPI(t)
	for line, want := range map[string]struct{ asked, out string }{
		"quota":       {"GET /quotas", "user ann  gpus              2/2  no more jobs start until GPUs are free; berth quota set user ann --gpus N raises it"},
		"quota --all": {"GET /quotas?all=true", "user ann  gpu_hours     1.5/1.5  of 1d, until "},
		"quota set user ann --gpus 2 --queued none --max-run-time 2h --period 24h --gpu-hours 1.5": {
			`PUT /quotas/user/ann {"gpus":2,"queued":"none","max_run_time":7200,"gpu_hours":1.5,"period":86400}`, "SCOPE     WHAT       USED/LIMIT  NOTE",
		},
		"quota set user ann --preemptible":       {`PUT /quotas/user/ann {"preemptible":true}`, ""},
		"quota set user ann --preemptible=false": {`PUT /quotas/user/ann {"preemptible":false}`, ""},
		"quota set cluster --preemptible=none":   {`PUT /quotas/cluster {"preemptible":"none"}`, "cluster  preemptible           true  default of its jobs"},
		"quota set cluster --gpus-per-user 2":    {`PUT /quotas/cluster {"gpus_per_user":2}`, "cluster  gpus_per_user          -/2  of each user without an own limit of gpus"},
		"quota set user bob --gpus none":         {`PUT /quotas/user/bob {"gpus":"none"}`, "user bob  gpus         1/2  the default of users"},
		"quota set user zed --gpus 0":            {`PUT /quotas/user/zed {"gpus":0}`, "user zed  gpus         0/0  no more jobs start; berth quota set user zed --gpus N raises it"},
		"quota set user dan --over-quota stop":   {`PUT /quotas/user/dan {"over_quota":"stop"}`, "; once they are used up no more jobs start"},
		"quota set user cyd --over-quota lower":  {`PUT /quotas/user/cyd {"over_quota":"lower"}`, "; once they are used up its jobs go last"},
		"quota set cluster --max-queue-size 2":   {`PUT /quotas/cluster {"max_queue_size":2}`, "cluster  max_queue_size         0/2  -"},
		"quota pool":                             {"GET /orchestrator/allocation", "GPUs         16, of which 12 are usable; 10 are guaranteed and 6 reserved for their owners"},
		"quota pool hybrid --ratio 0.5":          {`PUT /orchestrator/allocation {"mode":"hybrid","reserved_ratio":0.5}`, "Allocation   hybrid"},
		"share":                                  {"GET /shares", "-        ann      100       3.25      50%    x4         2"},
		"share set user ann 200":                 {`PUT /shares/user/ann {"shares":200}`, "user ann: 200 shares"},
	} {
		var out, errs strings.Builder
		if code := Run(strings.Fields(line), &out, &errs); code != 0 || f.asked != want.asked || !strings.Contains(out.String(), want.out) {
			t.Errorf("%s: exit code %d %s, asked %s, want %s, printed\n%s", line, code, errs.String(), f.asked, want.asked, out.String())
		}
	}
}

func TestQuotaCommandsThatMakeNoSense(t *testing.T) {
	f := newQuotaAPI(t)
	for _, line := range []string{
		"quota set user ann", "quota set user --gpus 1", "quota set team x --gpus 1", "quota set user ann --gpus many", "quota set user ann --period soon",
		"quota set user ann --gpus 1.5", "share set cluster x 3", "share set user ann", "share set user ann many", "quota now",
	} {
		var out, errs strings.Builder
		if code := Run(strings.Fields(line), &out, &errs); code != cmdline.ExitUsage || f.asked != "" {
			t.Errorf("%s: exit code %d, asked %q: %s%s", line, code, f.asked, out.String(), errs.String())
		}
	}
}
