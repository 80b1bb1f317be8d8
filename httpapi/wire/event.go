package wire

import (
	"encoding/json"
	"time"
)

// Notice is one event, as GET /events and webhooks deliver it.
type Notice struct {
	ID        string     `json:"id" doc:"the same on every peer; Last-Event-ID to continue after it"`
	Type      string     `json:"type" doc:"such as job.started"`
	Timestamp time.Time  `json:"timestamp" doc:"by the cluster's clock"`
	Actor     string     `json:"actor,omitempty" doc:"the cause, such as user:alice or node:n1"`
	Target    string     `json:"target" doc:"the target, such as job 17"`
	Result    string     `json:"result,omitempty" doc:"the result, in words"`
	Data      NoticeData `json:"data"`
}

// NoticeData is what an event is about, for programs.
type NoticeData struct {
	JobID        string    `json:"job_id,omitempty"`
	Task         *int64    `json:"task,omitempty" doc:"of an array; absent: the array as a whole"`
	Attempt      int64     `json:"attempt,omitempty"`
	NodeID       string    `json:"node_id,omitempty"`
	GPUUUID      string    `json:"gpu_uuid,omitempty"`
	AllocationID string    `json:"allocation_id,omitempty"`
	PeerID       string    `json:"peer_id,omitempty"`
	Name         string    `json:"name,omitempty" doc:"of the job or the service"`
	User         string    `json:"user,omitempty"`
	Project      string    `json:"project,omitempty"`
	Priority     int64     `json:"priority,omitempty"`
	Reason       string    `json:"reason,omitempty"`
	Detail       string    `json:"detail,omitempty"`
	SubmittedAt  time.Time `json:"submitted_at,omitzero"`
	WaitSeconds  *float64  `json:"wait_seconds,omitempty" doc:"from when the job could have run to its start, or from the request to a grant"`
	GPUIDs       []int64   `json:"gpu_ids,omitempty" nullable:"false" doc:"of an allocation: the GPUs' indices on the node"`
	Queued       int64     `json:"queued,omitempty" doc:"tasks that wait"`
}

// EventChanged is the type of the events of a stream with types=changed; their data is a [Changed].
const EventChanged = "changed"

// Changed is the log index of a state, and those at which its parts last changed: node, job, queue, fleet, settings.
type Changed struct {
	Index  uint64            `json:"index"`
	Topics map[string]uint64 `json:"topics"`
}

// EventReset is the type of an event which says that earlier events are not available here: read
// again what was built from them.
const EventReset = "reset"

// EventClosed is the type of the last event of a stream whose follower has lost the right to read
// on; its data is a [Problem].
const EventClosed = "closed"

// HeaderLastEvent names the last event that a follower has seen.
const HeaderLastEvent = "Last-Event-ID"

// Granted is what the webhook of an allocation gets.
type Granted struct {
	Status      string            `json:"status"`
	RequestID   string            `json:"request_id"`
	Allocation  GrantedAllocation `json:"allocation"`
	SubmittedAt time.Time         `json:"submitted_at"`
	AllocatedAt time.Time         `json:"allocated_at"`
	WaitSeconds json.Number       `json:"wait_time_seconds"`
}

// GrantedAllocation is the allocation in Granted.
type GrantedAllocation struct {
	ID          string    `json:"id"`
	ServiceName string    `json:"service_name"`
	GPUIDs      []int64   `json:"gpu_ids"`
	AllocatedAt time.Time `json:"allocated_at"`
	Priority    int64     `json:"priority"`
}

// Webhooks is the answer to GET /webhooks.
type Webhooks struct {
	Webhooks []Webhook       `json:"webhooks" nullable:"false"`
	Settings WebhookSettings `json:"settings"`
	Events   []string        `json:"events" nullable:"false" doc:"the types of events"`
}

// Webhook is the address and the selection of events that are sent there. Its secret is shown only
// once, when it is made.
type Webhook struct {
	ID        string    `json:"webhook_id"`
	URL       string    `json:"url" doc:"without its path and query, which often are a secret"`
	Events    []string  `json:"events" nullable:"false"`
	User      string    `json:"user,omitempty" doc:"only events of this user's jobs and services; or"`
	Project   string    `json:"project,omitempty"`
	Template  string    `json:"template,omitempty" doc:"of the body; absent: the event as JSON"`
	Note      string    `json:"note,omitempty"`
	CreatedBy string    `json:"created_by"`
	CreatedAt time.Time `json:"created_at"`
	Pending   int64     `json:"pending" doc:"deliveries that wait"`
	Delivered int64     `json:"delivered"`
	Dead      int64     `json:"dead" doc:"given up"`
	Dropped   int64     `json:"dropped" doc:"not queued, because too many waited"`
}

// SetWebhook is the body of POST /webhooks and of PUT /webhooks/{webhook_id}.
type SetWebhook struct {
	URL      string   `json:"url"`
	Events   []string `json:"events,omitempty" empty:"never" doc:"such as job.completed, failed, node.*, or * for all, which is the default"`
	User     string   `json:"user,omitempty" doc:"only what belongs to this user; or"`
	Project  string   `json:"project,omitempty" doc:"to this project"`
	Secret   string   `json:"secret,omitempty" doc:"whsec_ and 24 to 64 bytes in base64; by default one is drawn"`
	Template string   `json:"template,omitempty" doc:"of the body"`
	Note     string   `json:"note,omitempty" empty:"text"`
}

// WebhookMade is the answer to a change of a webhook.
type WebhookMade struct {
	Success bool     `json:"success"`
	Message string   `json:"message"`
	Webhook *Webhook `json:"webhook,omitempty"`
	Secret  string   `json:"secret,omitempty" doc:"signs deliveries; it is shown only once"`
	EventID string   `json:"event_id,omitempty" doc:"of a test event"`
}

// WebhookSettings are the cluster's settings of webhooks.
type WebhookSettings struct {
	Signed  bool   `json:"signed" doc:"deliveries to the addresses of jobs and allocations are signed"`
	Backlog int64  `json:"backlog,omitempty" doc:"number of waiting tasks from which on queue.backlog is sent; absent: never"`
	Allow   string `json:"allow,omitempty" doc:"allowed addresses of webhooks; absent: public addresses"`
}

// SetWebhookSettings is the body of PUT /webhooks/settings: what is left out stays.
type SetWebhookSettings struct {
	Secret  *string `json:"secret,omitempty" doc:"signs deliveries to the addresses of jobs and allocations; new: one is drawn; none: they are not signed"`
	Backlog *int64  `json:"backlog,omitempty" doc:"number of waiting tasks from which on queue.backlog is sent; 0: never"`
	Allow   *string `json:"allow,omitempty" empty:"text" doc:"hosts, *.domain and networks such as 10.0.0.0/8, separated by commas; empty: public addresses"`
}

// Deliveries is the answer to GET /webhooks/{webhook_id}/deliveries and GET /deliveries.
type Deliveries struct {
	Deliveries []Delivery `json:"deliveries" nullable:"false" doc:"the newest first"`
}

// Delivery is an event that is sent to one address.
type Delivery struct {
	ID        string    `json:"delivery_id" doc:"the webhook-id of the request"`
	To        string    `json:"to" doc:"such as webhook:wh_1 or job:17"`
	EventID   string    `json:"event_id"`
	Type      string    `json:"type"`
	Target    string    `json:"target"`
	At        time.Time `json:"at" doc:"when it happened"`
	State     string    `json:"state" enum:"pending,delivered,dead"`
	Tries     int64     `json:"tries"`
	LastTry   time.Time `json:"last_try,omitzero"`
	NextTry   time.Time `json:"next_try,omitzero"`
	Status    int64     `json:"status,omitempty" doc:"HTTP status of the last try"`
	Error     string    `json:"error,omitempty" doc:"of the last try"`
	TookMilli int64     `json:"took_milliseconds,omitempty"`
}
