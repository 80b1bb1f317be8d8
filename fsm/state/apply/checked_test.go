package apply_test

import (
	"testing"

	"github.com/berth-gpu/berth/fsm/state/apply"
	"github.com/berth-gpu/berth/fsm/state/check"
)

// These tests need the inside of the package and the checks, which import the package: each is written inside
// and gets the checks from here.

func checks() apply.Checks { return apply.Checks{State: check.State, Move: check.Move} }

func FuzzApply(f *testing.F)                 { apply.ApplyHoldsInvariants(f, checks()) }
func TestRandomCommands(t *testing.T)        { apply.ShortHistories(t, checks()) }
func TestRandomHistories(t *testing.T)       { apply.LongHistories(t, checks()) }
func TestRecordedLogs(t *testing.T)          { apply.RecordedLogs(t, checks()) }
func TestAllRequestIDsAreTaken(t *testing.T) { apply.AllRequestIDsAreTaken(t, checks()) }
