package jobs_test

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/tunnel"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// withSteps makes a cluster with a job of ann in Slurm's language that runs on a node whose server of steps repeats each line in capitals;
// the line "end" ends it.
func withSteps(t *testing.T) (s *apitest.Site, asked chan string) {
	t.Helper()
	s, asked = apitest.NewGuarded(t), make(chan string, 16)
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.RequestURI()
		c, err := tunnel.Accept(r.Context(), w, r)
		if err != nil {
			return
		}
		stream := tunnel.NewStream(tunnel.Patience)
		go func() {
			defer func() { _ = stream.Close() }()
			lines := bufio.NewScanner(stream)
			for lines.Scan() && lines.Text() != "end" {
				_, _ = io.WriteString(stream, strings.ToUpper(lines.Text())+"\n")
			}
		}()
		_ = stream.Carry(c)
		stream.Fail(tunnel.ErrLost)
	}))
	t.Cleanup(node.Close)
	s.Do(http.MethodPost, "/queue/submit", `{"script":"#!/bin/sh\ntrue","slurm":{"tasks_per_node":1}}`, apitest.As(apitest.Ann)...).Into(new(wire.Submitted))
	s.With(func(c *statetest.Cluster) {
		n := c.Node("n1", 1)
		n.Register(func(r *command.Register) { r.Address = node.Listener.Addr().String() })
		c.Start(c.Place(1))
	})
	return s, asked
}

// stepsOf asks for the steps of a job with a token.
func stepsOf(s *apitest.Site, t *testing.T, token, job, task string) (io.ReadWriteCloser, error) {
	t.Helper()
	c, err := client.New(client.Options{Addresses: []string{strings.TrimPrefix(s.URL, "http://")}, Token: token})
	if err != nil {
		t.Fatal(err)
	}
	return c.Steps(t.Context(), job, task)
}

// refusedSteps checks the code of a refusal.
func refusedSteps(s *apitest.Site, t *testing.T, token, job, task, code string) {
	t.Helper()
	conn, err := stepsOf(s, t, token, job, task)
	if err == nil {
		_ = conn.Close()
	}
	if p, is := errors.AsType[*wire.Problem](err); !is || p.Code != code {
		t.Errorf("the steps of job %s are refused with %v, want the code %s", job, err, code)
	}
}

// TestSteps checks that bytes pass in both directions, that all of them arrive before the end, and that the end of the token is the end of
// the tunnel.
func TestSteps(t *testing.T) {
	t.Parallel()
	s, asked := withSteps(t)
	conn, err := stepsOf(s, t, apitest.Ann, "1", "")
	if err != nil {
		t.Fatal(err)
	}
	if uri, _, _ := strings.Cut(<-asked, "&session="); uri != "/node/steps?attempt=1&job=1&rank=0" {
		t.Errorf("the node was asked %s", uri)
	}
	long := strings.Repeat("x", 48<<10)
	if _, err := io.WriteString(conn, "first\n"+long+"\nend\n"); err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(conn)
	if err != nil || string(all) != "FIRST\n"+strings.ToUpper(long)+"\n" {
		t.Errorf("%d bytes came back: %v", len(all), err)
	}
}

// A tunnel ends with the authority of its caller.
func TestTunnelsEndWithTheirAuthority(t *testing.T) {
	t.Parallel()
	s, _ := withSteps(t)
	for name, end := range map[string]func(*statetest.Cluster){
		"the token is revoked": func(c *statetest.Cluster) { c.Do(&command.DropTokens{Tokens: []model.Hash{auth.HashOf(apitest.Ann)}}) },
		"the token expires": func(c *statetest.Cluster) {
			c.Do(&command.DropTokens{Tokens: []model.Hash{auth.HashOf(apitest.Ann)}})
			c.Do(&command.MakeToken{Hash: auth.HashOf(apitest.Ann), User: "ann", Expires: c.Now + 1})
			c.Now = c.Now.Add(time.Second)
			c.Do(&command.AdvanceClock{})
		},
		"the role is lowered": func(c *statetest.Cluster) { c.Do(&command.SetUser{User: "ann", Role: model.RoleViewer}) },
	} {
		s.With(func(c *statetest.Cluster) {
			c.Do(&command.SetUser{User: "ann", Role: model.RoleUser})
			if c.State.Tokens.Has(auth.HashOf(apitest.Ann)) {
				c.Do(&command.DropTokens{Tokens: []model.Hash{auth.HashOf(apitest.Ann)}})
			}
			c.Do(&command.MakeToken{Hash: auth.HashOf(apitest.Ann), User: "ann"})
		})
		conn, err := stepsOf(s, t, apitest.Ann, "1", "")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		s.With(end)
		if rest, err := io.ReadAll(conn); len(rest) > 0 || !errors.Is(err, tunnel.ErrLost) {
			t.Errorf("%s: %q, %v", name, rest, err)
		}
	}
}

// TestStepsRefused checks the refusals of steps.
func TestStepsRefused(t *testing.T) {
	t.Parallel()
	s, _ := withSteps(t)
	refusedSteps(s, t, apitest.Operator, "1", "", "denied") // steps run with the account of the job
	refusedSteps(s, t, apitest.Adam, "1", "", "denied")
	refusedSteps(s, t, "", "1", "", wire.CodeUnauthenticated)
	refusedSteps(s, t, apitest.Ann, "9", "", wire.CodeNotFound)
	refusedSteps(s, t, apitest.Ann, "1", "3", wire.CodeNotFound)
	refusedSteps(s, t, apitest.Ann, "1", "x", wire.CodeInvalid)
	s.Do(http.MethodPost, "/queue/submit", `{"command":"true"}`, apitest.As(apitest.Ann)...).Into(new(wire.Submitted))
	refusedSteps(s, t, apitest.Ann, "2", "", wire.CodeInvalid) // not in Slurm's language
	s.Do(http.MethodPost, "/queue/submit", `{"command":"true","slurm":{"tasks_per_node":1}}`, apitest.As(apitest.Ann)...).Into(new(wire.Submitted))
	refusedSteps(s, t, apitest.Ann, "3", "", model.CodeUnavailable.String()) // it waits
	s.Do(http.MethodDelete, "/queue/3", "", apitest.As(apitest.Ann)...).Into(new(wire.Done))
	refusedSteps(s, t, apitest.Ann, "3", "", model.CodeTerminal.String())
	s.Do(http.MethodPost, "/queue/submit", `{"command":"true","array_size":2,"slurm":{"tasks_per_node":1,"array":"0-1"}}`, apitest.As(apitest.Ann)...).Into(new(wire.Submitted))
	refusedSteps(s, t, apitest.Ann, "4", "", wire.CodeInvalid) // which task?
	s.Do(http.MethodGet, "/jobs/1/steps?session=0123456789abcdef0123456789abcdef", "", apitest.As(apitest.Ann)...).Problem(http.StatusUnprocessableEntity, wire.CodeInvalid)
	s.Do(http.MethodGet, "/jobs/1/steps?session=0123456789abcdef0123456789abcdef", "", append(apitest.As(apitest.Ann), "Origin", "https://elsewhere.example")...).Problem(http.StatusUnprocessableEntity, wire.CodeInvalid)
}

// TestStepsOfANodeThatIsAway checks the codes for a node that cannot be reached, and for one whose job has no server of steps yet.
func TestStepsOfANodeThatIsAway(t *testing.T) {
	t.Parallel()
	s := apitest.NewGuarded(t)
	node := httptest.NewServer(http.NotFoundHandler())
	s.Do(http.MethodPost, "/queue/submit", `{"command":"true","slurm":{"tasks_per_node":1}}`, apitest.As(apitest.Ann)...).Into(new(wire.Submitted))
	s.With(func(c *statetest.Cluster) {
		n := c.Node("n1", 1)
		n.Register(func(r *command.Register) { r.Address = node.Listener.Addr().String() })
		c.Start(c.Place(1))
	})
	refusedSteps(s, t, apitest.Ann, "1", "", model.CodeUnavailable.String())
	node.Close()
	refusedSteps(s, t, apitest.Ann, "1", "", wire.CodeUnreachable)
}
