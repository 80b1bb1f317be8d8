// Package outbox has the webhooks and the deliveries of notices that wait or have ended, as rows of the state.
//
//berth:pure
package outbox

import (
	"cmp"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/berth-gpu/berth/fsm/model"
)

// Bounds of webhooks, and of deliveries.
const (
	MaxWebhooks   = 256
	MaxTemplate   = 8 << 10
	MaxPending    = 10_000         // deliveries that wait, in all
	MaxPendingOf  = 1_000          // of one outlet
	MaxDelivered  = 1_000          // deliveries that have ended and are remembered
	Span          = 72 * time.Hour // how long a delivery is tried for
	deliveryFirst = 5 * time.Second
	deliveryMost  = 6 * time.Hour
)

// WebhookID names a webhook; it is drawn before the log.
type WebhookID string

// Compare orders ids as bytes.
func (id WebhookID) Compare(o WebhookID) int { return strings.Compare(string(id), string(o)) }

// Webhook is a receiver of notices, and its selection.
//
//berth:row
type Webhook struct {
	ID       WebhookID       `cbor:"1,keyasint,omitempty"`
	Scope    model.ScopeKey  `cbor:"2,keyasint,omitempty"` // scope of its notices: all, or those of a user's or a project's jobs and services
	URL      string          `cbor:"3,keyasint,omitempty"`
	Events   model.NoticeSet `cbor:"4,keyasint,omitempty"`
	Secret   string          `cbor:"5,keyasint,omitempty"` // "whsec_" and base64; what deliveries are signed with
	Template string          `cbor:"6,keyasint,omitempty"` // of the body; empty: the notice as JSON
	Note     string          `cbor:"7,keyasint,omitempty"`
	By       string          `cbor:"8,keyasint,omitempty"`
	Made     model.Time      `cbor:"9,keyasint,omitempty"`
}

// Validate returns what is invalid in the webhook itself, whatever the cluster is. By and Made are left out:
// Apply sets them.
func (w *Webhook) Validate() error {
	switch {
	case !model.Name(string(w.ID)) || strings.Contains(string(w.ID), ":"):
		return &model.Problem{Field: "id", Want: "a name without a colon"}
	case w.Scope.Kind < model.ScopeCluster || w.Scope.Kind > model.ScopeUser || (w.Scope.Kind == model.ScopeCluster) != (w.Scope.Name == "") ||
		w.Scope.Name != "" && !model.Name(w.Scope.Name):
		return &model.Problem{Field: "user, project", Want: "one name, or none for all"}
	case !model.WebURL(w.URL):
		return &model.Problem{Field: "url", Want: fmt.Sprintf("an http or https URL of at most %d bytes, without user and password", model.MaxURL)}
	case w.Events == 0 || !w.Events.Within(model.AllNotices()):
		return &model.Problem{Field: "events", Want: "given: " + strings.Join(model.AllNotices().Names(), ", ")}
	case !model.KeptSecret(w.Secret):
		return &model.Problem{Field: "secret", Want: "whsec_ and 24 to 64 bytes in base64"}
	case len(w.Template) > MaxTemplate || !utf8.ValidString(w.Template):
		return &model.Problem{Field: "template", Want: fmt.Sprintf("at most %d bytes of UTF-8", MaxTemplate)}
	case !model.Text(w.Note, model.MaxText):
		return model.WantText("note", w.Note, model.MaxText)
	}
	return nil
}

// Wants reports whether a notice is sent to the webhook.
func (w *Webhook) Wants(n *model.Notice) bool {
	if n.Part || !w.Events.Has(n.Kind) {
		return false
	}
	switch w.Scope.Kind {
	case model.ScopeUser:
		return n.User == w.Scope.Name
	case model.ScopeProject:
		return n.Project == w.Scope.Name
	case model.ScopeCluster:
	}
	return true
}

// OutletID names a destination of deliveries: a webhook, or the one address of a job or an allocation.
type OutletID string

// Outlet returns the webhook's outlet.
func (id WebhookID) Outlet() OutletID { return OutletID(webhookPrefix + string(id)) }

// OfJob returns the outlet of a job's own address.
func OfJob(id model.JobID) OutletID { return OutletID("job:" + id.String()) }

// OfAllocation returns the outlet of an allocation's own address.
func OfAllocation(id model.AllocationID) OutletID { return OutletID("allocation:" + string(id)) }

const webhookPrefix = "webhook:"

// Compare orders ids as bytes.
func (id OutletID) Compare(o OutletID) int { return strings.Compare(string(id), string(o)) }

// Webhook returns the outlet's webhook; false if the outlet is not a webhook's.
func (id OutletID) Webhook() (WebhookID, bool) {
	text, is := strings.CutPrefix(string(id), webhookPrefix)
	return WebhookID(text), is
}

// Outlet counts the deliveries to one destination.
//
//berth:row
type Outlet struct {
	ID        OutletID `cbor:"1,keyasint,omitempty"`
	URL       string   `cbor:"2,keyasint,omitempty"` // of a job or an allocation; a webhook's is in its row
	Pending   uint32   `cbor:"3,keyasint,omitempty"`
	Delivered uint64   `cbor:"4,keyasint,omitempty"`
	Dead      uint64   `cbor:"5,keyasint,omitempty"`
	Dropped   uint64   `cbor:"6,keyasint,omitempty"` // not taken, since too many waited
}

// State is the state of a delivery.
type State uint8

// The states of a delivery.
const (
	Pending   State = 1
	Delivered State = 2
	Dead      State = 3 // given up
)

// String returns the state's name.
func (s State) String() string { return model.NameOf(s, "", "pending", "delivered", "dead") }

// Key orders deliveries like their notices.
type Key struct {
	Index   uint64   `cbor:"1,keyasint,omitempty"`
	Ordinal uint32   `cbor:"2,keyasint,omitempty"`
	Outlet  OutletID `cbor:"3,keyasint,omitempty"`
}

// Compare orders by notice, then outlet.
func (k Key) Compare(o Key) int {
	return cmp.Or(k.place().Compare(o.place()), k.Outlet.Compare(o.Outlet))
}

// place returns the place of the notice.
func (k Key) place() model.NoticePlace { return model.NoticePlace{Index: k.Index, Ordinal: k.Ordinal} }

// Delivery is a notice to be sent to one destination.
//
//berth:row
type Delivery struct {
	Key    Key           `cbor:"1,keyasint,omitempty"`
	Notice model.Notice  `cbor:"2,keyasint,omitempty"`
	State  State         `cbor:"3,keyasint,omitempty"`
	Next   model.Time    `cbor:"4,keyasint,omitempty"` // not to be tried before; 0: at once
	Tries  uint32        `cbor:"5,keyasint,omitempty"`
	Last   model.Time    `cbor:"6,keyasint,omitempty"` // when the newest try was marked
	Status uint16        `cbor:"7,keyasint,omitempty"` // HTTP status of it; 0: none came
	Error  string        `cbor:"8,keyasint,omitempty"` // what went wrong
	Took   time.Duration `cbor:"9,keyasint,omitempty"` // the newest try
}

// Again returns when a delivery is tried next after another failure at now: later and later, spread by a
// random number from 0 to 1,000, and for the last time when its span is over. Never means that it is given
// up.
func (d *Delivery) Again(now model.Time, random uint32) model.Time {
	last := d.Notice.At.Add(Span)
	if now >= last {
		return model.Never
	}
	wait := min(deliveryFirst<<min(d.Tries, 16), deliveryMost)
	wait = wait*3/4 + wait/2*time.Duration(min(random, 1000))/1000
	return min(now.Add(wait), last)
}

// Warned is a live attempt whose near time limit was announced.
//
//berth:row
type Warned struct {
	Attempt model.AttemptKey `cbor:"1,keyasint,omitempty"`
	At      model.Time       `cbor:"2,keyasint,omitempty"`
}
