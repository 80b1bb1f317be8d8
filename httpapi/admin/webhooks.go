package admin

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/cluster/notify"
	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/outbox"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/intake"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/view"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// webhooks lists and changes webhooks.
type webhooks struct{ api *core.API }

// webhookInput is the input of a change of a webhook with a body.
type webhookInput struct {
	Key string `header:"Idempotency-Key"`
	ID  string `path:"webhook_id"`

	core.Raw
}

// webhookTarget is the input of a change of a webhook without a body.
type webhookTarget struct {
	Key string `header:"Idempotency-Key"`
	ID  string `path:"webhook_id"`
}

func noticeType() reflect.Type { return reflect.TypeFor[wire.Notice]() }

func (a webhooks) route(doc huma.API) {
	core.Handle(a.api, doc, core.Op("webhooks", http.MethodGet, "/webhooks", "The webhooks and their settings"),
		func(ctx context.Context, in *core.WatchInput) (*core.Answer[wire.Webhooks], error) {
			s, err := a.api.Read(ctx, &in.Watch, core.Topics(model.TopicSettings, model.TopicJob), nil)
			if err != nil {
				return nil, err
			}
			return &core.Answer[wire.Webhooks]{Index: s.Index, Body: webhooksOf(ctx, &s)}, nil
		})
	o := core.Example(core.Op("add-webhook", http.MethodPost, "/webhooks", "Send events to an address"), `{"url":"https://hooks.example.org/berth"}`)
	o.Description = "Deliveries are signed by the standard-webhooks specification. The secret is only in this answer."
	core.HandleBody(a.api, doc, o, a.add)
	core.HandleBody(a.api, doc, core.Op("set-webhook-settings", http.MethodPut, "/webhooks/settings", "Set the allowed addresses of webhooks, and the threshold of the backlog event"), a.set)
	core.HandleBody(a.api, doc, core.Example(core.Op("replace-webhook", http.MethodPut, "/webhooks/{webhook_id}", "Change a webhook; its secret stays unless a new one is given"), `{"url":"https://hooks.example.org/berth"}`), a.replace)
	core.Handle(a.api, doc, core.Op("remove-webhook", http.MethodDelete, "/webhooks/{webhook_id}", "Remove a webhook and what waits for it"),
		a.remove)
	o = core.Op("test-webhook", http.MethodPost, "/webhooks/{webhook_id}/test", "Send a test event to a webhook")
	o.Description = "The result is in the list of deliveries."
	core.Handle(a.api, doc, o, a.test)
	deliveries(a).route(doc)
}

func webhooksOf(ctx context.Context, s *state.State) *wire.Webhooks {
	set := s.Settings().Notify
	out := &wire.Webhooks{
		Webhooks: []wire.Webhook{}, Events: model.AllNotices().Names(),
		Settings: wire.WebhookSettings{Signed: set.Secret != "", Backlog: int64(set.Backlog), Allow: set.Allow},
	}
	for id, w := range s.Webhooks.All() {
		if ownHook(ctx, &w) {
			out.Webhooks = append(out.Webhooks, *webhookOf(s, id))
		}
	}
	return out
}

func webhookOf(s *state.State, id outbox.WebhookID) *wire.Webhook {
	w, _ := s.Webhooks.Get(id)
	sent, _ := s.Outlets.Get(id.Outlet())
	out := &wire.Webhook{
		ID: string(w.ID), URL: view.ShortURL(w.URL), Events: w.Events.Names(), Template: w.Template, Note: w.Note, CreatedBy: w.By,
		CreatedAt: w.Made.Time(),
		Pending:   int64(sent.Pending), Delivered: int64(sent.Delivered), Dead: int64(sent.Dead), Dropped: int64(sent.Dropped),
	}
	switch w.Scope.Kind {
	case model.ScopeUser:
		out.User = w.Scope.Name
	case model.ScopeProject:
		out.Project = w.Scope.Name
	case model.ScopeCluster:
	}
	return out
}

// ask converts a body to a webhook without id and secret.
func (a webhooks) ask(ctx context.Context, r *wire.SetWebhook) (*outbox.Webhook, error) {
	if r.Secret != "" && !model.HookSecret(r.Secret) {
		return nil, secretProblem()
	}
	w := &outbox.Webhook{URL: r.URL, Secret: r.Secret, Template: r.Template, Note: r.Note}
	s := a.api.State()
	if err := notify.CheckTarget(&s, r.URL); err != nil {
		return nil, problem.Invalid("url", err.Error())
	}
	var err error
	if w.Scope, err = hookScope(ctx, r.User, r.Project); err != nil {
		return nil, err
	}
	if w.Events = model.AllNotices(); len(r.Events) > 0 {
		if w.Events, err = model.ParseNotices(r.Events, model.AllNotices()); err != nil {
			return nil, err
		}
	}
	if r.Template != "" && len(r.Template) <= outbox.MaxTemplate {
		if _, err := notify.ParseTemplate(r.Template); err != nil {
			return nil, problem.Invalid("template", "cannot be used: "+model.Clip(err.Error()))
		}
	}
	return w, nil
}

func secretProblem() error {
	return problem.Invalid("secret", "must be whsec_ and 24 to 64 bytes in base64")
}

// newSecret draws a secret.
func newSecret() (string, error) {
	var random [32]byte
	if _, err := rand.Read(random[:]); err != nil {
		return "", fmt.Errorf("drawing a secret: %w", err)
	}
	return model.NewHookSecret(random), nil
}

// add makes a webhook. Its id follows from the request's key and its sender, so that a repeated
// request finds the webhook that it made, with its secret.
func (a webhooks) add(ctx context.Context, in *core.SubmitInput, r *wire.SetWebhook) (*core.Answer[wire.WebhookMade], error) {
	w, err := a.ask(ctx, r)
	if err != nil {
		return nil, err
	}
	s, err := a.api.Fresh(ctx, peer.Default)
	if err != nil {
		return nil, err
	}
	w.ID = newHookID(auth.From(ctx).Actor(), in.Key)
	if old, found := s.Webhooks.Get(w.ID); found {
		return a.madeBefore(ctx, in.Key, &s, w, &old)
	}
	if w.Secret == "" {
		if w.Secret, err = newSecret(); err != nil {
			return nil, err
		}
	}
	_, index, err := a.api.Propose(ctx, in.Key, &command.SetWebhook{Webhook: *w})
	if err != nil {
		return nil, err
	}
	s = a.api.State()
	return a.made(&s, index, "created; keep its secret, which is shown only once", w, w.Secret), nil
}

// madeBefore answers a repeated request as the first time, with the secret, for as long as requests
// are remembered: the first answer may have been lost.
func (a webhooks) madeBefore(ctx context.Context, key string, s *state.State, w, old *outbox.Webhook) (*core.Answer[wire.WebhookMade],
	error,
) {
	same := *w
	same.By, same.Made = old.By, old.Made
	if same.Secret == "" {
		same.Secret = old.Secret
	}
	_, remembered := s.Request(core.ClipActor(auth.From(ctx).Actor()), key)
	secret, err := a.api.Config.Sealing.Open(old.Secret)
	if err != nil {
		return nil, problem.Refuse(wire.CodeBehind, err.Error())
	}
	before := *old
	if !model.Sealed(same.Secret) {
		before.Secret = secret
	}
	if !ownHook(ctx, old) || same != before || !remembered {
		return nil, problem.Refuse(model.CodeIdempotency.String(), "webhook "+string(w.ID)+" was created under this Idempotency-Key and was changed since: use another key")
	}
	return a.made(s, s.Index, "made before", old, secret), nil
}

// newHookID returns the id of what is made under a request's key; without a key a new id each time.
func newHookID(actor, key string) outbox.WebhookID {
	if key == "" {
		key = rand.Text()
	}
	sum := sha256.Sum256([]byte(actor + "\x00" + key))
	return outbox.WebhookID("wh_" + hex.EncodeToString(sum[:8]))
}

// remove drops a webhook. A missing one is refused by the command, so that a repeated request is
// answered as before.
func (a webhooks) remove(ctx context.Context, in *webhookTarget) (*core.Answer[wire.WebhookMade], error) {
	if err := a.mayChange(ctx, in.ID); err != nil {
		return nil, err
	}
	_, index, err := a.api.Propose(ctx, in.Key, &command.DropWebhook{ID: outbox.WebhookID(in.ID)})
	if err != nil {
		return nil, err
	}
	return &core.Answer[wire.WebhookMade]{Index: index, Body: &wire.WebhookMade{Success: true, Message: "removed"}}, nil
}

// mayChange returns an error if the caller may not change a webhook, if it exists.
func (a webhooks) mayChange(ctx context.Context, id string) error {
	s, err := a.api.Fresh(ctx, peer.Default)
	if err != nil {
		return err
	}
	if w, found := s.Webhooks.Get(outbox.WebhookID(id)); found && !ownHook(ctx, &w) {
		return deniedHook(ctx, "a webhook that is not your own")
	}
	return nil
}

func (a webhooks) made(s *state.State, index uint64, what string, w *outbox.Webhook, secret string) *core.Answer[wire.WebhookMade] {
	return &core.Answer[wire.WebhookMade]{
		Index: index,
		Body:  &wire.WebhookMade{Success: true, Message: what, Webhook: webhookOf(s, w.ID), Secret: secret},
	}
}

func (a webhooks) replace(ctx context.Context, in *webhookInput, r *wire.SetWebhook) (*core.Answer[wire.WebhookMade], error) {
	s, err := a.api.Fresh(ctx, peer.Default)
	if err != nil {
		return nil, err
	}
	old, err := findHook(ctx, &s, outbox.WebhookID(in.ID))
	if err != nil {
		return nil, err
	}
	w, err := a.ask(ctx, r)
	if err != nil {
		return nil, err
	}
	w.ID = old.ID
	if w.Secret == "" {
		w.Secret = old.Secret
	}
	_, index, err := a.api.Propose(ctx, in.Key, &command.SetWebhook{Webhook: *w})
	if err != nil {
		return nil, err
	}
	s = a.api.State()
	return a.made(&s, index, "changed", w, r.Secret), nil
}

func noWebhook() error {
	return problem.Refuse(wire.CodeNotFound, "there is no such webhook: GET /webhooks lists them")
}

func (a webhooks) test(ctx context.Context, in *webhookTarget) (*core.Answer[wire.WebhookMade], error) {
	id := outbox.WebhookID(in.ID)
	if err := a.mayChange(ctx, in.ID); err != nil {
		return nil, err
	}
	r, index, err := a.api.Propose(ctx, in.Key, &command.TestWebhook{ID: id})
	if err != nil {
		return nil, err
	}
	s := a.api.State()
	out := &wire.WebhookMade{Success: true, Message: "a test event is being sent", Webhook: webhookOf(&s, id)}
	for k, d := range s.Deliveries.From(outbox.Key{Index: r.Number}) {
		if k.Index != r.Number {
			break
		}
		if k.Outlet == id.Outlet() && d.Notice.Kind == model.NoticeTest {
			out.EventID = notify.ID(&d.Notice)
		}
	}
	return &core.Answer[wire.WebhookMade]{Index: index, Body: out}, nil
}

// set changes the cluster's settings of webhooks.
func (a webhooks) set(ctx context.Context, in *core.BodyInput, r *wire.SetWebhookSettings) (*core.Answer[wire.WebhookMade], error) {
	s, err := a.api.Fresh(ctx, peer.Default)
	if err != nil {
		return nil, err
	}
	n := s.Settings().Notify
	backlog, err := intake.Count("backlog", r.Backlog, 0, model.MaxBacklog, int64(n.Backlog))
	if err != nil {
		return nil, err
	}
	n.Backlog, n.Allow = backlog, intake.Or(r.Allow, n.Allow)
	if err := model.CheckAllow(n.Allow); err != nil {
		return nil, problem.Invalid("allow", err.Error())
	}
	told := ""
	switch {
	case r.Secret == nil:
	case *r.Secret == "none":
		n.Secret = ""
	case *r.Secret == "new":
		if n.Secret, err = newSecret(); err != nil {
			return nil, err
		}
		told = n.Secret
	case !model.HookSecret(*r.Secret):
		return nil, secretProblem()
	default:
		n.Secret = *r.Secret
	}
	_, index, err := a.api.Propose(ctx, in.Key, &command.SetNotify{Notify: n})
	if err != nil {
		return nil, err
	}
	return &core.Answer[wire.WebhookMade]{Index: index, Body: &wire.WebhookMade{Success: true, Message: "changed", Secret: told}}, nil
}
