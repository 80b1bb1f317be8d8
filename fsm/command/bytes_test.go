package command

import (
	"reflect"
	"testing"

	"github.com/berth-gpu/berth/fsm/model/dependency"
)

// Every text of a submission counts to its size, and so do its tasks and dependencies.
func TestEveryTextCounts(t *testing.T) {
	t.Parallel()
	var b Submit
	empty := b.Bytes()
	try := func(of reflect.Value, name string) {
		of.SetString("12345")
		if got := b.Bytes(); got != empty+5 {
			t.Errorf("%s adds %d bytes of 5", name, got-empty)
		}
		of.SetString("")
	}
	for _, of := range []reflect.Value{reflect.ValueOf(&b).Elem(), reflect.ValueOf(&b.Spec).Elem()} {
		for i := range of.NumField() {
			if of.Field(i).Kind() == reflect.String {
				try(of.Field(i), of.Type().Field(i).Name)
			}
		}
	}
	b.Env = []string{"A=12"}
	if got := b.Bytes(); got < empty+4 {
		t.Errorf("a variable adds %d bytes", got-empty)
	}
	b.Env, b.Tasks = nil, 1000
	if got := b.Bytes(); got < empty+100*1000 {
		t.Errorf("1,000 tasks add %d bytes", got-empty)
	}
	b.Tasks, b.After = 0, make([]dependency.After, 3)
	if got := b.Bytes(); got < empty+3 {
		t.Errorf("three dependencies add %d bytes", got-empty)
	}
}
