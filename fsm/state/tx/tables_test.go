package tx

import (
	"reflect"
	"testing"

	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/digest"
)

// TestEveryTableIsRegistered checks that each field of Tables and Indexes is passed over at the begin and at the
// end of a transaction: the latter sets a field that the former has read.
func TestEveryTableIsRegistered(t *testing.T) {
	t.Parallel()
	x := Begin(&state.State{}, state.Meta{})
	if n := reflect.TypeFor[state.Tables]().NumField(); len(x.List) != n || n != tableCount {
		t.Errorf("%d tables are registered and tableCount is %d, the state has %d", len(x.List), tableCount, n)
	}
	if n := reflect.TypeFor[cells]().NumField(); n != tableCount {
		t.Errorf("a transaction has %d cells for %d tables", n, tableCount)
	}
	numbers, names := map[uint8]string{}, map[string]bool{}
	for _, c := range x.List {
		number, name := c.Info()
		if number == 0 || number > digest.MaxTable || numbers[number] != "" || names[name] {
			t.Errorf("table %s has the number %d, which table %s has too or which is not in 1 to %d", name, number, numbers[number], digest.MaxTable)
		}
		numbers[number], names[name] = name, true
	}
	cells, indexes := reflect.ValueOf(&x.cells).Elem(), reflect.ValueOf(&x.indexes).Elem()
	for i := range cells.NumField() {
		if cells.Field(i).FieldByName("number").Uint() == 0 {
			t.Errorf("the cell %s is not registered", cells.Type().Field(i).Name)
		}
	}
	if n, want := indexes.NumField(), reflect.TypeFor[state.Indexes]().NumField(); n != want {
		t.Errorf("a transaction has %d indexes, the state %d", n, want)
	}
}
