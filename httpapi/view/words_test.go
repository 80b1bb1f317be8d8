package view

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// The states that clients compare with are those of the domain.
func TestStatesOfTheWire(t *testing.T) {
	t.Parallel()
	for i, text := range []string{
		wire.StateQueued, wire.StateScheduled, wire.StateAllocating, wire.StateRunning, wire.StateCompleted, wire.StateFailed, wire.StateCanceled,
	} {
		if state := model.TaskQueued + model.TaskState(i); state.String() != text {
			t.Errorf("%s is %q for clients", state, text)
		}
	}
}

// Each code that lists show has words: those of blockers are read from their source, since there is no list of them.
func TestEveryReasonHasWords(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "../../cluster/sched/blocker/blocker.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	words, codes := ReasonWords(), 0
	ast.Inspect(file, func(n ast.Node) bool {
		v, is := n.(*ast.ValueSpec)
		if !is || len(v.Values) != 1 || !strings.HasPrefix(v.Names[0].Name, "Code") {
			return true
		}
		text, is := v.Values[0].(*ast.BasicLit)
		if !is {
			t.Fatalf("%s is no text", v.Names[0].Name)
		}
		code, err := strconv.Unquote(text.Value)
		if codes++; err != nil || words[code] == "" {
			t.Errorf("the code %q of blockers has no words", code)
		}
		return true
	})
	if codes < 20 || codes != len(words) {
		t.Errorf("%d codes, %d words", codes, len(words))
	}
	ends, n := EndWords(), 0
	for r := model.ReasonNone + 1; r.String() != "unknown"; r++ {
		if n++; ends[r.String()] == "" {
			t.Errorf("the reason %s has no words", r)
		}
	}
	if n != len(ends) {
		t.Errorf("%d reasons, %d words", n, len(ends))
	}
}
