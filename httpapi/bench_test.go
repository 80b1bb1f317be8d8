package httpapi_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/intake"
	"github.com/berth-gpu/berth/httpapi/strict"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// One submission through all of the API, without a socket and without Raft: where
// authentication is off, and where callers show a token, are counted, and have
// commands held against rules.
func BenchmarkSubmit(b *testing.B) {
	b.Run("open", func(b *testing.B) { benchSubmit(b, apitest.New(b), func(*statetest.Cluster) {}) })
	b.Run("guarded", func(b *testing.B) {
		s := apitest.New(b)
		var rules intake.CommandRules
		for i := range 10 {
			if err := rules.Forbid(fmt.Sprint("rule", i), fmt.Sprintf(`(^|[\s;&|])forbidden%d\b`, i), ""); err != nil {
				b.Fatal(err)
			}
		}
		s.API.TakeOver(core.Terms{Rules: rules, Rate: 1e9})
		benchSubmit(b, s, func(c *statetest.Cluster) {
			apitest.Guard(c)
			c.Do(&command.MakeToken{Hash: auth.HashOf("berth_bench"), User: "username", Role: model.RoleUser})
		})
	})
}

func benchSubmit(b *testing.B, s *apitest.Site, prepare func(*statetest.Cluster)) {
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if i%1000 == 0 { // a queue that does not grow without end
			b.StopTimer()
			next := apitest.NewPeer(b).Cluster
			prepare(next)
			s.Become(next)
			b.StartTimer()
		}
		r := httptest.NewRequest(http.MethodPost, "/queue/submit", strings.NewReader(apitest.BenchBody))
		r.Header.Set("Authorization", "Bearer berth_bench")
		w := httptest.NewRecorder()
		s.API.ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			b.Fatal(w.Body)
		}
	}
}

// Only what is made of the body before anything is proposed.
func BenchmarkDecodeSubmission(b *testing.B) {
	for _, env := range []int{0, 100} {
		b.Run(fmt.Sprint(env, "_variables"), func(b *testing.B) {
			var more strings.Builder
			for i := range env {
				fmt.Fprintf(&more, `"NAME_%d":"value %d",`, i, i)
			}
			body := []byte(strings.Replace(apitest.BenchBody, `"env":{`, `"env":{`+more.String(), 1))
			strict := strict.New[wire.Submit]()
			site := apitest.New(b)
			s := site.API.State()
			basis := site.API.Basis(auth.With(b.Context(), &auth.Caller{Kind: auth.Open, Role: model.RoleAdmin}), &s)
			b.ReportAllocs()
			for b.Loop() {
				r, err := strict.Decode(body)
				if err == nil {
					_, err = intake.Prepare(basis, r)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// The first page of a long queue.
func BenchmarkQueuePage(b *testing.B) {
	s := apitest.New(b)
	apitest.Fill(s, 10_000)
	b.ReportAllocs()
	for b.Loop() {
		w := httptest.NewRecorder()
		s.API.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/queue?limit=100", nil))
		if w.Code != http.StatusOK {
			b.Fatal(w.Body)
		}
	}
}

// Pages of lists of 10,000 jobs that are filtered and sorted: what does not match is not converted.
func BenchmarkLists(b *testing.B) {
	s := apitest.New(b)
	apitest.Fill(s, 10_000)
	for _, v := range []struct{ name, path string }{
		{"queue_whole", "/queue"},
		{"queue_whole_brief", "/queue?brief=true"},
		{"queue_page", "/queue?brief=true&limit=200"},
		{"queue_of_user", "/queue?brief=true&limit=200&user=user3"},
		{"queue_search", "/queue?brief=true&limit=200&q=nowhere"},
		{"jobs_page", "/jobs?limit=200"},
		{"jobs_by_state_and_user", "/jobs?limit=200&state=queued&user=user3"},
		{"jobs_sorted", "/jobs?limit=200&sort=user"},
		{"jobs_counted", "/jobs?limit=200&state=queued&count=true"},
		{"jobs_three_fields", "/jobs?limit=200&fields=id,user,state"},
	} {
		b.Run(v.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				w := httptest.NewRecorder()
				s.API.ServeHTTP(w, httptest.NewRequest(http.MethodGet, v.path, nil))
				if w.Code != http.StatusOK {
					b.Fatal(w.Body)
				}
				b.ReportMetric(float64(w.Body.Len()), "bytes")
			}
		})
	}
}

// All of it.
func BenchmarkQueueWhole(b *testing.B) {
	s := apitest.New(b)
	apitest.Fill(s, 10_000)
	b.ReportAllocs()
	for b.Loop() {
		w := httptest.NewRecorder()
		s.API.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/queue", nil))
		if w.Code != http.StatusOK {
			b.Fatal(w.Body)
		}
	}
}
