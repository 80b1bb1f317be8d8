// Package meter exposes metrics of a peer and of its HTTP API for Prometheus.
package meter

import (
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/agentwire"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/places"
	"github.com/berth-gpu/berth/httpapi/port"
	"github.com/berth-gpu/berth/httpapi/view"
)

// Meter counts what this API does, and reads the state of the peer at each request for metrics.
type Meter struct {
	Registry  *prometheus.Registry
	Named     *prometheus.Registry // the state of the peer, with the names of users and services
	nameless  *prometheus.Registry // the same without
	requests  *prometheus.CounterVec
	latency   *prometheus.HistogramVec
	proposals *prometheus.CounterVec
}

// Sources are what the metrics of a peer are read from.
type Sources struct {
	Reader  port.Reader
	Members port.Members
	Places  *places.Cache
	Samples func() agentwire.Samples // of this moment
	Now     func() time.Time
	Expires func() time.Time // when this peer's certificate expires; nil: it has none
}

// New returns a meter that exposes others' metrics, too.
func New(from Sources, others ...prometheus.Collector) *Meter {
	m := &Meter{
		Registry: prometheus.NewRegistry(), Named: prometheus.NewRegistry(), nameless: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "gpu_orchestrator_http_requests_total", Help: "Requests answered, by route and status.",
		}, []string{"route", "code"}),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "gpu_orchestrator_http_request_duration_seconds", Help: "Time from a request's header to the end of its answer, by route.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 60},
		}, []string{"route"}),
		proposals: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "berth_proposals_total", Help: "Commands proposed by this API, by kind and outcome.",
		}, []string{"kind", "outcome"}),
	}
	m.Named.MustRegister(&standings{Sources: from, names: true})
	m.nameless.MustRegister(&standings{Sources: from})
	m.Registry.MustRegister(m.requests, m.latency, m.proposals,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.Registry.MustRegister(others...)
	return m
}

// Handler serves the metrics. Names of users and services are shown to callers that may read the
// queue; all others get the sums.
func (m *Meter) Handler() http.Handler {
	of := func(standing *prometheus.Registry) http.Handler {
		return promhttp.HandlerFor(prometheus.Gatherers{m.Registry, standing},
			promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: 5 * time.Second})
	}
	named, nameless := of(m.Named), of(m.nameless)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c := auth.From(r.Context()); c.Kind == auth.Open || c.Role.Covers(model.RoleViewer) {
			named.ServeHTTP(w, r)
			return
		}
		nameless.ServeHTTP(w, r)
	})
}

// Proposed counts a proposed command.
func (m *Meter) Proposed(kind command.Kind, outcome string) {
	m.proposals.WithLabelValues(kind.String(), outcome).Inc()
}

// Route returns the counters of one route.
func (m *Meter) Route(name string) *RouteMeter {
	return &RouteMeter{meter: m, name: name, latency: sync.OnceValue(func() prometheus.Observer { return m.latency.WithLabelValues(name) })}
}

// RouteMeter counts the requests of one route.
type RouteMeter struct {
	meter   *Meter
	name    string
	latency func() prometheus.Observer // of a route that was called: others would be most of all series
	codes   sync.Map                   // from status to its counter
}

// Done counts a request that was answered.
func (r *RouteMeter) Done(status int, took time.Duration) {
	if status == 0 {
		status = http.StatusOK
	}
	r.latency().Observe(took.Seconds())
	known, found := r.codes.Load(status)
	if !found {
		known, _ = r.codes.LoadOrStore(status, r.meter.requests.WithLabelValues(r.name, strconv.Itoa(status)))
	}
	if c, is := known.(prometheus.Counter); is {
		c.Inc()
	}
}

// standings reads the state and the status of the peer.
type standings struct {
	Sources

	names bool // with names of users and services
}

// Describe sends nothing: the metrics depend on the state.
func (*standings) Describe(chan<- *prometheus.Desc) {}

// Collect reads one state and one status.
func (c *standings) Collect(to chan<- prometheus.Metric) {
	st, clocks, s := c.Members.Status(), c.Members.Clocks(), c.Reader.State()
	g := gauges{to: to, names: c.names}
	g.raft(&st)
	for id, ahead := range clocks.Ahead {
		g.put("berth_peer_clock_offset_seconds", "Wall clock of each peer with contact within 5 s, minus that of this peer.", ahead.Seconds(), "peer", string(id))
	}
	agree := 0.0
	if clocks.Agree {
		agree = 1
	}
	g.put("berth_peer_clocks_agree", "1 while the wall clocks of a majority of the peers are within 2 s of each other.", agree)
	if c.Expires != nil {
		g.put("berth_certificate_expiry_timestamp_seconds", "When this peer's certificate expires, in seconds since 1970.", float64(c.Expires().Unix()))
	}
	g.put("berth_sched_passes", "Scheduling passes of this leadership; 0 while another peer leads.", float64(st.Passes.Count))
	g.put("berth_sched_pass_seconds", "Total time of the scheduling passes.", st.Passes.Took.Seconds())
	const tries = "Tries of this process to deliver to webhooks, by outcome."
	g.count("berth_webhook_deliveries_total", tries, float64(st.Delivered), "result", "delivered")
	g.count("berth_webhook_deliveries_total", tries, float64(st.Undelivered), "result", "failed")
	const defects = "Commands that were skipped, decisions without effect, and restored states that break invariants, because of a defect of this program, in this process."
	g.count("berth_defects_total", defects, float64(st.Defects.Commands), "of", "command")
	g.count("berth_defects_total", defects, float64(st.Defects.Decisions), "of", "decision")
	g.count("berth_defects_total", defects, float64(st.Defects.States), "of", "state")
	c.waiting(&g, &s)
	c.jobs(&g, &s)
	c.gpus(&g, &s)
	c.leader(&g, &s)
	c.devices(&g, &s)
	g.allocations(&s)
	g.spans(&s)
	g.users(&s)
	g.requestIDs(&s)
}

// raft exposes this peer's part in Raft.
func (g *gauges) raft(st *peer.Status) {
	leads, votes := 0.0, 0.0
	if st.Role == peer.RoleLeader {
		leads = 1
	}
	if slices.Contains(st.Silence.Voters, st.ID) {
		votes = 1
	}
	g.put("berth_raft_term", "Raft's term.", float64(st.Term))
	g.put("berth_raft_is_leader", "1 while this peer leads.", leads)
	g.put("berth_raft_role", "1 for the role that this peer has.", 1, "role", string(st.Role))
	g.put("berth_raft_last_index", "Newest entry in this peer's log.", float64(st.Last))
	g.put("berth_raft_commit_index", "Newest entry known to be committed.", float64(st.Committed))
	g.put("berth_raft_applied_index", "Newest command in this peer's state.", float64(st.Applied))
	g.put("berth_raft_last_contact_seconds", "Time without contact to a leader; 0 while there is contact.", st.Leaderless.Seconds())
	g.put("berth_raft_peers", "Members of the cluster.", float64(len(st.Servers)))
	g.put("berth_raft_voters", "Members with a vote.", float64(len(st.Silence.Voters)))
	g.put("berth_raft_has_vote", "1 while this peer has a vote.", votes)
	const refused = "Messages of Raft that this process refused: malformed ones, and foreign ones, which name another sender or data folder."
	g.count("berth_raft_refused_messages_total", refused, float64(st.Messages.Malformed), "reason", "malformed")
	g.count("berth_raft_refused_messages_total", refused, float64(st.Messages.Foreign), "reason", "foreign")
	g.count("berth_raft_busy_heartbeats_total", "Heartbeats that this process answered while Raft was busy.", float64(st.Messages.Busy))
}

// requestIDs exposes how many request ids are remembered.
func (g gauges) requestIDs(s *state.State) {
	set := s.Settings()
	g.put("berth_request_ids", "Request ids that are remembered, of all callers.", float64(s.Requests.Len()))
	g.put("berth_request_ids_limit", "Request ids that can be remembered; beyond that the oldest are forgotten early.", state.MaxRequests)
	g.put("berth_request_ids_untimed", "Request ids that are remembered and are not a UUIDv7 of their time; they cannot be forgotten early.",
		float64(set.Requests.Untimed))
	g.put("berth_request_ids_untimed_limit", "The most of those that can be remembered; more are refused.", state.MaxRequestsUntimed)
	g.count("berth_request_ids_forgotten_early_total", "Request ids that were forgotten within a day, for lack of room.", float64(set.Requests.Early))
}

func (c *standings) jobs(g *gauges, s *state.State) {
	n := view.Statistics(s, c.Places.Rate(s))
	const help = "Tasks by state; those that have ended over the cluster's life."
	for _, v := range []struct {
		state string
		count int64
	}{{"queued", n.Queued}, {"running", n.Running}, {"completed", n.Completed}, {"failed", n.Failed}, {"canceled", n.Canceled}} {
		g.put("berth_jobs", help, float64(v.count), "state", v.state)
	}
	g.put("berth_queue_wait_seconds_mean", "Mean time from when jobs could have run to their first start.", n.AverageWaitSeconds)
	g.put("berth_attempts_lost", "Attempts that were ended by failures of machines.", float64(n.LostAttempts))
	g.put("berth_attempts_preempted", "Attempts that were preempted or drained.", float64(n.Preempted))
	g.predicted(s)
}

// waiting exposes the deliveries that webhooks have not got yet.
func (c *standings) waiting(g *gauges, s *state.State) {
	oldest := 0.0
	for k, d := range s.Deliveries.All() { // in the order of what happened; at most 1,000 have ended
		if _, waits := s.Outgoing.Get(state.OutgoingKey{Next: d.Next, Delivery: k}); waits {
			oldest = max(model.TimeOf(c.Now()).Sub(d.Notice.At), 0).Seconds()
			break
		}
	}
	g.put("berth_webhook_waiting", "Deliveries to webhooks that wait.", float64(s.Outgoing.Len()))
	g.put("berth_webhook_oldest_waiting_seconds", "Age of the event that has waited longest for its delivery; 0: no event waits.", oldest)
}

func (c *standings) gpus(g *gauges, s *state.State) {
	r := view.Resources(s)
	const help = "GPUs by state."
	g.put("berth_gpus", help, float64(r.AvailableGPUs), "state", "free")
	g.put("berth_gpus", help, float64(r.AllocatedGPUs), "state", "allocated")
	g.put("berth_gpus", help, float64(r.UnhealthyGPUs), "state", "unhealthy")
	g.put("berth_gpus", help, float64(r.TotalGPUs-r.AvailableGPUs-r.AllocatedGPUs-r.UnhealthyGPUs), "state", "claimed")
	g.put("berth_nodes", "GPU hosts.", float64(s.Nodes.Len()))
}

// gauges sends values.
type gauges struct {
	to    chan<- prometheus.Metric
	names bool // with names of users and services
}

// put sends one value with labels, given as names and values in turn.
func (g *gauges) put(name, help string, v float64, label ...string) {
	g.send(prometheus.GaugeValue, name, help, v, label)
}

// count sends one value that never falls.
func (g *gauges) count(name, help string, v float64, label ...string) {
	g.send(prometheus.CounterValue, name, help, v, label)
}

func (g *gauges) send(kind prometheus.ValueType, name, help string, v float64, label []string) {
	names, values := pairs(label)
	g.to <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, names, nil), kind, v, values...)
}
