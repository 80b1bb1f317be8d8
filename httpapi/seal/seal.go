// Package seal seals the texts of users in commands before they enter the log: scripts, inputs and environments of jobs, and
// the secrets of webhooks (package fsm/sealing).
package seal

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/sealing"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// wait bounds the time for which a command waits for the key, which a peer that has just joined gets from the others.
const wait = 5 * time.Second

// Body returns a command with its texts sealed. The given one is left as it is. A nil ring seals nothing.
func Body(ctx context.Context, ring *sealing.Ring, body command.Body) (command.Body, error) {
	if ring == nil {
		return body, nil
	}
	if err := body.Validate(); err != nil { // sealed texts cannot be checked any more
		return nil, err
	}
	f := sealer{ring: ring, ctx: ctx}
	switch b := body.(type) {
	case *command.Submit:
		c := *b
		c.Script, c.Stdin, c.Env, c.SubmitEnv = f.text(b.Script), f.text(b.Stdin), f.environment(b.Env), f.environment(b.SubmitEnv)
		body = &c
	case *command.ImportJobs:
		c := *b
		c.Texts = f.texts(b.Texts)
		body = &c
	case *command.Adopt:
		c := *b
		c.Texts = f.texts(b.Texts)
		body = &c
	case *command.SetWebhook:
		c := *b
		c.Webhook.Secret = f.secret(b.Webhook.Secret)
		body = &c
	case *command.SetNotify:
		c := *b
		c.Notify.Secret = f.secret(b.Notify.Secret)
		body = &c
	}
	return body, f.err
}

// sealer seals texts until one fails.
type sealer struct {
	ring *sealing.Ring
	ctx  context.Context // of the request
	err  error
}

// text seals a text of a job. One that is sealed already comes from a client, which has no key: it would be that of another user.
func (f *sealer) text(text string) string {
	if text == "" || f.err != nil {
		return ""
	}
	if model.Sealed(text) {
		f.err = &model.Problem{Field: "script, stdin, env, submit_env", Want: "text without NUL at its beginning"}
		return ""
	}
	if f.err = f.ready(); f.err != nil {
		return ""
	}
	text, f.err = f.ring.Seal(text)
	return text
}

// secret seals the secret of a webhook. One that is sealed already is the former secret, which stays.
func (f *sealer) secret(text string) string {
	if model.Sealed(text) {
		return text
	}
	return f.text(text)
}

// ready waits until there is a key.
func (f *sealer) ready() error {
	select {
	case <-f.ring.Ready():
		return nil
	default:
	}
	ctx, cancel := context.WithTimeout(f.ctx, wait)
	defer cancel()
	select {
	case <-f.ring.Ready():
		return nil
	case <-ctx.Done():
		return problem.Refuse(wire.CodeBehind, "this peer does not have the key yet by which the cluster seals scripts, environments and secrets: repeat the request later, or at another peer")
	}
}

func (f *sealer) texts(list []string) []string {
	out := slices.Clone(list)
	for i := range out {
		out[i] = f.text(out[i])
	}
	return out
}

// environment returns an environment as one text that is sealed.
func (f *sealer) environment(env []string) []string {
	if len(env) == 0 {
		return nil
	}
	return []string{f.text(strings.Join(env, "\x00"))}
}

// Content returns a script, an input or an environment of jobs; empty: there is none.
func Content(ring *sealing.Ring, s *state.State, h model.Hash) (string, error) {
	blob, _ := s.Blobs.Get(h)
	text, err := ring.Open(blob.Data)
	if err != nil {
		return "", problem.Refuse(wire.CodeBehind, "this peer cannot read what the job runs with: "+err.Error())
	}
	return text, nil
}
