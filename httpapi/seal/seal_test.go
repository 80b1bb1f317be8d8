package seal

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/sealing"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// A command waits for the key, and is refused as one that another peer may take.
func TestACommandWaitsForTheKey(t *testing.T) {
	for name, tc := range map[string]struct {
		arrives, takes time.Duration
		refused        bool
	}{
		"in time": {arrives: 2 * time.Second, takes: 2 * time.Second},
		"never":   {takes: wait, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ring, err := sealing.NewRing()
				if err != nil {
					t.Fatal(err)
				}
				if tc.arrives > 0 {
					time.AfterFunc(tc.arrives, func() {
						if err := ring.Add(sealing.NewKey()); err != nil {
							t.Error(err)
						}
					})
				}
				begun := time.Now()
				body, err := Body(t.Context(), ring, statetest.Job(1, func(b *command.Submit) { b.Script = "#!/bin/sh\n" }))
				var refused *problem.Failure
				if took := time.Since(begun); took != tc.takes || tc.refused != errors.As(err, &refused) ||
					tc.refused && refused.Code != wire.CodeBehind {
					t.Errorf("after %v: %v", took, err)
				}
				if submit, is := body.(*command.Submit); !tc.refused && (!is || !model.Sealed(submit.Script)) {
					t.Errorf("the script is %+v", body)
				}
			})
		})
	}
}

// A job without texts needs no key, and neither does a request that was given up.
func TestWhatNeedsNoKey(t *testing.T) {
	t.Parallel()
	ring, err := sealing.NewRing()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Body(t.Context(), ring, statetest.Job(1)); err != nil {
		t.Error(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Body(ended, ring, statetest.Job(1, func(b *command.Submit) { b.Env = []string{"A=1"} })); err == nil {
		t.Error("sealed without a key")
	}
}

// The caller's body stays as it is: what is wrong with it is found before it is sealed.
func TestTheBodyStays(t *testing.T) {
	t.Parallel()
	ring, err := sealing.NewRing(sealing.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	body := statetest.Job(1, func(b *command.Submit) { b.Env, b.Script = []string{"A=1", "B=2"}, "x" })
	sealed, err := Body(t.Context(), ring, body)
	if err != nil || body.Script != "x" || len(body.Env) != 2 {
		t.Fatalf("%+v: %v", body, err)
	}
	if err := sealed.Validate(); err != nil {
		t.Errorf("the sealed body is refused: %v", err)
	}
	body.Env = []string{"1=A"}
	if _, err := Body(t.Context(), ring, body); err == nil {
		t.Error("a wrong environment is sealed")
	}
}
