package state_test

import (
	"testing"

	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/check"
)

// These tests need the inside of the package and the checks, which import the package: each is written inside
// and gets the checks from here.

func checks() state.Checks { return state.Checks{State: check.State, Move: check.Move} }

func FuzzApply(f *testing.F)                 { state.ApplyHoldsInvariants(f, checks()) }
func TestRandomCommands(t *testing.T)        { state.ShortHistories(t, checks()) }
func TestRandomHistories(t *testing.T)       { state.LongHistories(t, checks()) }
func TestRecordedLogs(t *testing.T)          { state.RecordedLogs(t, checks()) }
func TestAllRequestIDsAreTaken(t *testing.T) { state.AllRequestIDsAreTaken(t, checks()) }
