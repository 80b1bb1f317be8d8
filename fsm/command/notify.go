package command

import (
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/outbox"
)

// MaxMarks bounds the deliveries of one MarkDeliveries, and the attempts of one
// NearLimit.
const MaxMarks = 256

// SetWebhook makes a webhook, or replaces the one of that id, whose pending deliveries stay. The fields that
// Apply sets (By, Made) are left out.
type SetWebhook struct {
	Webhook outbox.Webhook `cbor:"1,keyasint,omitempty"`
}

// Kind returns KindSetWebhook.
func (*SetWebhook) Kind() Kind { return KindSetWebhook }

// Validate checks the webhook by itself.
func (b *SetWebhook) Validate() error {
	if b.Webhook.By != "" || b.Webhook.Made != 0 {
		return invalid("made", "left out: the cluster gives it")
	}
	return b.Webhook.Validate()
}

// DropWebhook removes a webhook, its pending deliveries, and its history.
type DropWebhook struct {
	ID outbox.WebhookID `cbor:"1,keyasint,omitempty"`
}

// Kind returns KindDropWebhook.
func (*DropWebhook) Kind() Kind { return KindDropWebhook }

// Validate requires an id.
func (b *DropWebhook) Validate() error { return validHook(b.ID) }

// TestWebhook queues a test delivery to a webhook. The result's Number is the log index under which the
// delivery is found.
type TestWebhook struct {
	ID outbox.WebhookID `cbor:"1,keyasint,omitempty"`
}

// Kind returns KindTestWebhook.
func (*TestWebhook) Kind() Kind { return KindTestWebhook }

// Validate requires an id.
func (b *TestWebhook) Validate() error { return validHook(b.ID) }

// MarkDeliveries records the outcomes of tries to deliver. The leader proposes it.
type MarkDeliveries struct {
	Marks []Mark `cbor:"1,keyasint,omitempty"`
}

// Mark is the outcome of one try.
type Mark struct {
	Key    outbox.Key    `cbor:"1,keyasint,omitempty"`
	Tries  uint32        `cbor:"2,keyasint,omitempty"` // with this one; a mark that comes twice counts once
	OK     bool          `cbor:"3,keyasint,omitempty"` // it was taken
	Next   model.Time    `cbor:"4,keyasint,omitempty"` // otherwise: when to try again; Never: it is given up
	Status uint16        `cbor:"5,keyasint,omitempty"` // HTTP status; 0: none came
	Error  string        `cbor:"6,keyasint,omitempty"`
	Took   time.Duration `cbor:"7,keyasint,omitempty"`
}

// Kind returns KindMarkDeliveries.
func (*MarkDeliveries) Kind() Kind { return KindMarkDeliveries }

// Validate bounds the list and its texts.
func (b *MarkDeliveries) Validate() error {
	for i := range b.Marks {
		switch m := &b.Marks[i]; {
		case !model.Text(m.Error, model.MaxText):
			return invalid("error", "at most 512 bytes of text on one line")
		case m.Took < 0 || m.Next < 0:
			return invalid("took, next", "0 or more")
		}
	}
	return validCount("marks", len(b.Marks), 1, MaxMarks)
}

// SetNotify sets the cluster's settings of webhooks as a whole.
type SetNotify struct {
	Notify model.Notify `cbor:"1,keyasint,omitempty"`
}

// Kind returns KindSetNotify.
func (*SetNotify) Kind() Kind { return KindSetNotify }

// Validate checks the values.
func (b *SetNotify) Validate() error { return b.Notify.Validate() }

// NearLimit names attempts that have used four fifths of their time limit, as proposed by the leader. Each is
// announced once.
type NearLimit struct {
	Attempts []model.AttemptKey `cbor:"1,keyasint,omitempty"`
}

// Kind returns KindNearLimit.
func (*NearLimit) Kind() Kind { return KindNearLimit }

// Validate bounds the list.
func (b *NearLimit) Validate() error { return validCount("attempts", len(b.Attempts), 1, MaxMarks) }
