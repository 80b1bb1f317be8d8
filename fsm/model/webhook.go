package model

import (
	"cmp"
	"encoding/base64"
	"strings"
	"time"
	"unicode/utf8"
)

// Bounds of webhooks and of pending deliveries.
const (
	MaxWebhooks   = 256
	MaxTemplate   = 8 << 10
	MaxAllow      = 1 << 10
	MaxBacklog    = 10_000_000
	MaxPending    = 10_000         // deliveries that wait, in all
	MaxPendingOf  = 1_000          // of one outlet
	MaxDelivered  = 1_000          // deliveries that have ended and are remembered
	DeliverySpan  = 72 * time.Hour // how long a delivery is tried for
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
	ID       WebhookID `cbor:"1,keyasint,omitempty"`
	Scope    ScopeKey  `cbor:"2,keyasint,omitempty"` // scope of its notices: all, or those of a user's or a project's jobs and services
	URL      string    `cbor:"3,keyasint,omitempty"`
	Events   NoticeSet `cbor:"4,keyasint,omitempty"`
	Secret   string    `cbor:"5,keyasint,omitempty"` // "whsec_" and base64; what deliveries are signed with
	Template string    `cbor:"6,keyasint,omitempty"` // of the body; empty: the notice as JSON
	Note     string    `cbor:"7,keyasint,omitempty"`
	By       string    `cbor:"8,keyasint,omitempty"`
	Made     Time      `cbor:"9,keyasint,omitempty"`
}

// Validate returns what is invalid in the webhook itself, whatever the cluster is. By and Made are left out:
// Apply sets them.
func (w *Webhook) Validate() error {
	switch {
	case !Name(string(w.ID)) || strings.Contains(string(w.ID), ":"):
		return want("id", "a name without a colon")
	case w.Scope.Kind < ScopeCluster || w.Scope.Kind > ScopeUser || (w.Scope.Kind == ScopeCluster) != (w.Scope.Name == "") ||
		w.Scope.Name != "" && !Name(w.Scope.Name):
		return want("user, project", "one name, or none for all")
	case !WebURL(w.URL):
		return want("url", "an http or https URL of at most %d bytes, without user and password", MaxURL)
	case w.Events == 0 || !w.Events.Within(AllNotices()):
		return want("events", "given: %s", strings.Join(AllNotices().Names(), ", "))
	case !HookSecret(w.Secret) && !sealedSecret(w.Secret):
		return want("secret", "whsec_ and 24 to 64 bytes in base64")
	case len(w.Template) > MaxTemplate || !utf8.ValidString(w.Template):
		return want("template", "at most %d bytes of UTF-8", MaxTemplate)
	case !Text(w.Note, MaxText):
		return WantText("note", w.Note, MaxText)
	}
	return nil
}

// Wants reports whether a notice is sent to the webhook.
func (w *Webhook) Wants(n *Notice) bool {
	if n.Part || !w.Events.Has(n.Kind) {
		return false
	}
	switch w.Scope.Kind {
	case ScopeUser:
		return n.User == w.Scope.Name
	case ScopeProject:
		return n.Project == w.Scope.Name
	case ScopeCluster:
	}
	return true
}

const (
	secretPrefix = "whsec_"
	maxSecret    = 256 // bytes of one that is sealed
)

func sealedSecret(text string) bool { return Sealed(text) && len(text) <= maxSecret }

// HookSecret reports whether text is a secret to sign with.
func HookSecret(text string) bool {
	key := HookKey(text)
	return len(key) >= 24 && len(key) <= 64
}

// HookKey returns the key of a secret; nil if it is malformed.
func HookKey(secret string) []byte {
	text, found := strings.CutPrefix(secret, secretPrefix)
	key, err := base64.StdEncoding.DecodeString(text)
	if !found || err != nil {
		return nil
	}
	return key
}

// NewHookSecret returns a secret of random bytes.
func NewHookSecret(random [32]byte) string {
	return secretPrefix + base64.StdEncoding.EncodeToString(random[:])
}

// OutletID names a destination of deliveries: a webhook, or the one address of a job or an allocation.
type OutletID string

// Outlet returns the webhook's outlet.
func (id WebhookID) Outlet() OutletID { return OutletID(webhookPrefix + string(id)) }

// Outlet returns the outlet of the job's own address.
func (id JobID) Outlet() OutletID { return OutletID("job:" + id.String()) }

// Outlet returns the outlet of the allocation's own address.
func (id AllocationID) Outlet() OutletID { return OutletID("allocation:" + string(id)) }

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

// DeliveryState is the state of a delivery.
type DeliveryState uint8

// The states of a delivery.
const (
	DeliveryPending   DeliveryState = 1
	DeliveryDelivered DeliveryState = 2
	DeliveryDead      DeliveryState = 3 // given up
)

// String returns the state's name.
func (s DeliveryState) String() string { return name(s, "", "pending", "delivered", "dead") }

// DeliveryKey orders deliveries like their notices.
type DeliveryKey struct {
	Index   uint64   `cbor:"1,keyasint,omitempty"`
	Ordinal uint32   `cbor:"2,keyasint,omitempty"`
	Outlet  OutletID `cbor:"3,keyasint,omitempty"`
}

// Compare orders by notice, then outlet.
func (k DeliveryKey) Compare(o DeliveryKey) int {
	return cmp.Or(NoticePlace{k.Index, k.Ordinal}.Compare(NoticePlace{o.Index, o.Ordinal}), k.Outlet.Compare(o.Outlet))
}

// Delivery is a notice to be sent to one destination.
//
//berth:row
type Delivery struct {
	Key    DeliveryKey   `cbor:"1,keyasint,omitempty"`
	Notice Notice        `cbor:"2,keyasint,omitempty"`
	State  DeliveryState `cbor:"3,keyasint,omitempty"`
	Next   Time          `cbor:"4,keyasint,omitempty"` // not to be tried before; 0: at once
	Tries  uint32        `cbor:"5,keyasint,omitempty"`
	Last   Time          `cbor:"6,keyasint,omitempty"` // when the newest try was marked
	Status uint16        `cbor:"7,keyasint,omitempty"` // HTTP status of it; 0: none came
	Error  string        `cbor:"8,keyasint,omitempty"` // what went wrong
	Took   time.Duration `cbor:"9,keyasint,omitempty"` // the newest try
}

// Again returns when a delivery is tried next after another failure at now: later and later, spread by a
// random number from 0 to 1,000, and for the last time when its span is over. Never means that it is given
// up.
func (d *Delivery) Again(now Time, random uint32) Time {
	last := d.Notice.At.Add(DeliverySpan)
	if now >= last {
		return Never
	}
	wait := min(deliveryFirst<<min(d.Tries, 16), deliveryMost)
	wait = wait*3/4 + wait/2*time.Duration(min(random, 1000))/1000
	return min(now.Add(wait), last)
}

// Notify is the cluster's settings of webhooks.
type Notify struct {
	Secret  string `cbor:"1,keyasint,omitempty"` // signs deliveries to the addresses of jobs and allocations; empty: unsigned
	Backlog uint32 `cbor:"2,keyasint,omitempty"` // tasks that wait from which on a notice is given; 0: none is
	Allow   string `cbor:"3,keyasint,omitempty"` // where webhooks may go: hosts, *.domain, networks, with commas; empty: anywhere but what is forbidden
}

// Validate checks the values.
func (n *Notify) Validate() error {
	switch {
	case n.Secret != "" && !HookSecret(n.Secret) && !sealedSecret(n.Secret):
		return want("secret", "whsec_ and 24 to 64 bytes in base64")
	case n.Backlog > MaxBacklog:
		return want("backlog", "at most %d", MaxBacklog)
	case !Text(n.Allow, MaxAllow):
		return want("allow", "at most %d bytes of text on one line", MaxAllow)
	}
	return nil
}

// Warned is a live attempt whose near time limit was announced.
//
//berth:row
type Warned struct {
	Attempt AttemptKey `cbor:"1,keyasint,omitempty"`
	At      Time       `cbor:"2,keyasint,omitempty"`
}
