package wire

import (
	"time"

	"github.com/berth-gpu/berth/cluster/notify/event"
)

// Notice is one event, as GET /events and webhooks deliver it.
type Notice = event.Notice

// Granted is what the webhook of an allocation gets.
type Granted = event.Granted

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
