package sim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/test/sim/simnet"
)

// answerWithin is how long a user waits for one peer.
const answerWithin = 8 * time.Second

// operator is the name under which jobs are changed without a user's signature.
const operator = "user:anonymous"

// deed is a request of a user, and its outcome.
type deed struct {
	actor, request string
	kind           command.Kind
	job            string      // name of the job, of a submission
	id             model.JobID // of that job
	code           string      // of the answer
	acked          bool
}

func (d *deed) ok() bool { return d.acked && d.code == model.CodeOK.String() }

// user is a user that reaches the cluster by any peer. A request that is not answered, or whose outcome is unknown, is sent again under the
// same key: a submission by the production client, and a request without a method or a key there by hand.
type user struct {
	w     *World
	name  string
	rng   *rand.Rand
	net   *simnet.Host
	turn  int
	out   *http.Transport
	front *client.Client // for submissions
	peers []string       // known to the user
	only  string         // address of the one peer that it asks; empty: any
	count int
	jobs  []model.JobID
}

func newUser(w *World, name string, stream uint64) *user {
	host := w.net.Host(name)
	u := &user{w: w, name: name, rng: newRNG(w.Seed, stream), net: host, out: &http.Transport{DialContext: dialer(host)}}
	u.turn = u.rng.IntN(64)
	return u
}

func (u *user) close() {
	u.out.CloseIdleConnections()
	if u.front != nil {
		u.front.Close()
	}
	u.net.Crash()
}

// newDeed begins a deed under a key of its own.
func (u *user) newDeed(actor string, kind command.Kind) *deed {
	u.count++
	return &deed{actor: actor, request: fmt.Sprintf("%s-%d", u.name, u.count), kind: kind}
}

// do sends the request as often as necessary; the deed is not acknowledged if the context ends first.
func (u *user) do(ctx context.Context, d *deed, ask func(context.Context) error) {
	for ctx.Err() == nil {
		if u.settled(d, ask(ctx)) {
			u.w.remember(d)
			return
		}
		u.turn++
		sleep(ctx, 100*time.Millisecond)
	}
}

// settled reports whether the deed has an answer: it was carried out, or refused for good. Any other answer
// means that nothing was done, or that the outcome is unknown.
func (u *user) settled(d *deed, err error) bool {
	problem, refused := errors.AsType[*wire.Problem](err)
	switch {
	case err == nil:
		d.code = model.CodeOK.String()
	case !refused || problem.Status == http.StatusTooManyRequests || problem.Status >= http.StatusInternalServerError:
		if refused && problem.Code == wire.CodeInternal {
			u.w.trace.Break(BreachDefect, "%s of %s fails: %v", d.kind, d.request, problem)
		}
		return false
	default:
		d.code = problem.Code
	}
	d.acked = true
	return true
}

// send asks the peer whose turn it is.
func (u *user) send(ctx context.Context, d *deed, method, path string, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	peers := u.known()
	r, err := http.NewRequestWithContext(ctx, method, "http://"+peers[u.turn%len(peers)]+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set(wire.HeaderRequestID, d.request)
	answer, err := u.out.RoundTrip(r)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode >= http.StatusMultipleChoices {
		err = &wire.Problem{Status: answer.StatusCode, Code: answer.Header.Get(wire.HeaderCode), Detail: string(text)}
	}
	return err
}

// command carries out a command for which the API has no path.
func (u *user) command(ctx context.Context, body command.Body) {
	d := u.newDeed("user:"+u.name, body.Kind())
	c, err := command.New(d.actor, body)
	if err == nil {
		c, err = c.WithRequest(d.request)
	}
	data, err2 := command.Encode(0, "", []command.Command{c})
	if err = errors.Join(err, err2); err != nil {
		u.w.trace.Break(BreachDefect, "a user's %s is not valid: %v", body.Kind(), err)
		return
	}
	u.do(ctx, d, func(ctx context.Context) error { return u.send(ctx, d, http.MethodPost, pathCommand, data) })
}

func (u *user) cancel(ctx context.Context, job model.JobID) {
	d := u.newDeed(operator, command.KindCancel)
	u.do(ctx, d, func(ctx context.Context) error { return u.send(ctx, d, http.MethodDelete, "/queue/"+job.String(), nil) })
}

func (u *user) setPriority(ctx context.Context, job model.JobID, priority int) {
	d := u.newDeed(operator, command.KindSetPriority)
	body := fmt.Appendf(nil, `{"priority": %d}`, priority)
	u.do(ctx, d, func(ctx context.Context) error {
		return u.send(ctx, d, http.MethodPatch, "/queue/"+job.String()+"/priority", body)
	})
}

// remember stores an acknowledged deed.
func (w *World) remember(d *deed) {
	w.trace.Note("%s %s %s: %s job %s", d.request, d.kind, d.job, d.code, d.id)
	w.shared.mu.Lock()
	defer w.shared.mu.Unlock()
	w.shared.acks = append(w.shared.acks, d)
}

// submit queues a job under a name of its own.
func (u *user) submit(ctx context.Context, like *command.Submit) *deed {
	d := u.newDeed("user:"+u.name, command.KindSubmit)
	d.job = "job-" + d.request
	does := parseBehavior(like.Spec.Command)
	does.Job = d.job
	wish := *like
	wish.Spec.User, wish.Spec.Name, wish.Spec.Command = u.name, d.job, does.command()
	job := asked(u.w.rules.wish(&wish))
	u.do(ctx, d, func(ctx context.Context) error {
		front, err := u.client()
		if err != nil {
			return err
		}
		answer, err := front.Submit(ctx, job, d.request)
		if err == nil {
			d.id, err = jobID(answer.JobID)
		}
		return err
	})
	if d.ok() {
		u.jobs = append(u.jobs, d.id)
	}
	return d
}

// known returns the peers that the user asks.
func (u *user) known() []string {
	if u.only != "" {
		return []string{u.only}
	}
	return u.w.apiAddresses()
}

// client returns a client of the present peers; each user begins with another one.
func (u *user) client() (*client.Client, error) {
	peers := u.known()
	if slices.Equal(peers, u.peers) {
		return u.front, nil
	}
	if u.front != nil {
		u.front.Close()
	}
	at := u.turn % len(peers)
	front, err := client.New(client.Options{Addresses: slices.Concat(peers[at:], peers[:at]), Dial: dialer(u.net)})
	u.front, u.peers = front, peers
	return front, err
}

func jobID(text string) (model.JobID, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	return model.JobID(n), err
}
