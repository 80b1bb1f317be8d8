package command

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/dependency"
	"github.com/berth-gpu/berth/fsm/model/membership"
	"github.com/berth-gpu/berth/fsm/model/outbox"
	"github.com/berth-gpu/berth/fsm/model/session"
	"github.com/berth-gpu/berth/fsm/model/tally"
)

// lockFile lists every field in logs and snapshots: its number and its type. Lines are added, never changed
// or removed: see TestFieldLock.
var lockFile = filepath.Join("testdata", "fields.lock")

// fields walks the struct types that a value is made of and notes "type.field
// number type" by "type number", which must be unique.
func fields(into map[string]string, t reflect.Type) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		fields(into, t.Elem())
	case reflect.Struct:
		for f := range reflectFields(t) {
			number, _, tagged := strings.Cut(f.Tag.Get("cbor"), ",")
			if !tagged {
				continue
			}
			into[t.String()+" "+number] = fmt.Sprintf("%s.%s %s %s", t, f.Name, number, f.Type)
			fields(into, f.Type)
		}
	default:
	}
}

func reflectFields(t reflect.Type) func(yield func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for i := range t.NumField() {
			if !yield(t.Field(i)) {
				return
			}
		}
	}
}

func allFields(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	roots := []any{
		frame{},
		Result{},
		model.Settings{},
		model.Peer{},
		model.Limit{},
		model.Usage{},
		model.Share{},
		model.Weight{},
		model.Account{},
		model.Booking{},
		model.Token{},
		session.Row{},
		model.User{},
		model.Member{},
		model.Blob{},
		model.Job{},
		dependency.Row{},
		model.Task{},
		model.Event{},
		model.Attempt{},
		model.Rank{},
		model.Node{},
		model.Lease{},
		model.NodeUse{},
		model.GPU{},
		model.Slot{},
		model.Claim{},
		model.Allocation{},
		model.Request{},
		model.RequestUse{},
		model.Sketch{},
		tally.Row{},
		model.Desired{},
		outbox.Webhook{},
		outbox.Outlet{},
		outbox.Delivery{},
		outbox.Warned{},
		membership.Certificate{},
		membership.Trust{},
	}
	for _, r := range roots {
		fields(all, reflect.TypeOf(r))
	}
	for _, k := range Kinds() {
		fields(all, reflect.TypeOf(k.Fresh()))
		all["kind "+k.String()] = fmt.Sprintf("kind %s %d", k, k)
	}
	return all
}

// TestFieldLock: a field keeps its number and its type, a kind its number, for
// ever. With -update new ones are added to the lock; nothing changes one that is
// there but an editor and a good reason.
func TestFieldLock(t *testing.T) {
	have, locked := allFields(t), map[string]bool{}
	var lines []string
	if data, err := os.ReadFile(lockFile); err == nil {
		for s := bufio.NewScanner(strings.NewReader(string(data))); s.Scan(); {
			locked[s.Text()] = true
			lines = append(lines, s.Text())
		}
	}
	now := map[string]bool{}
	for _, line := range have {
		now[line] = true
	}
	gone := 0
	for _, line := range lines {
		if !now[line] {
			gone++
			t.Errorf("%q is in logs and snapshots on disks: it must not change or go", line)
		}
	}
	for _, line := range slices.Sorted(maps.Keys(now)) {
		if !locked[line] {
			lines = append(lines, line)
			if !*update {
				t.Errorf("%q is new: run this test with -update", line)
			}
		}
	}
	if *update && gone == 0 {
		slices.Sort(lines)
		if err := os.WriteFile(lockFile, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// Two fields of one type under one number would be one in the file.
func TestFieldNumbersAreUnique(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var walk func(reflect.Type)
	walk = func(s reflect.Type) {
		switch {
		case s.Kind() == reflect.Pointer || s.Kind() == reflect.Slice || s.Kind() == reflect.Array:
			walk(s.Elem())
		case s.Kind() == reflect.Struct && !seen[s]:
			seen[s] = true
			numbers := map[string]string{}
			for f := range reflectFields(s) {
				number, _, _ := strings.Cut(f.Tag.Get("cbor"), ",")
				if other, taken := numbers[number]; taken || number == "" {
					t.Errorf("%s.%s: number %q is none or that of %s", s, f.Name, number, other)
				}
				numbers[number] = f.Name
				walk(f.Type)
			}
		}
	}
	for _, k := range Kinds() {
		walk(reflect.TypeOf(k.Fresh()))
	}
	for _, r := range []any{frame{}, model.Settings{}, model.Job{}, model.Task{}, model.Attempt{}, model.Rank{}, model.Desired{}} {
		walk(reflect.TypeOf(r))
	}
}
