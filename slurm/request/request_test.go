package request

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestEncode checks that a request is read as it was written, and that faults are named.
func TestEncode(t *testing.T) {
	t.Parallel()
	r := &Request{Partition: "gpu", Tasks: 5, TasksPerNode: 3, Stdout: "logs/%x-%j.out", Asked: Asked{GPUsPerNode: "a100:4", MemPerNode: 64000}}
	text, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	back, err := Decode(text)
	if err != nil || !reflect.DeepEqual(back, r) {
		t.Errorf("%s is read as %+v, %v", text, back, err)
	}
	for _, c := range []struct {
		name string
		r    Request
		want string
	}{
		{"negative", Request{Tasks: -1}, "tasks is -1"},
		{"huge", Request{Asked: Asked{Plane: 1 << 30}}, "asked.plane"},
		{"NUL", Request{Stdout: "a\x00b"}, "stdout must be UTF-8"},
		{"long", Request{Comment: strings.Repeat("x", MaxBytes)}, "it may have"},
	} {
		if _, err := c.r.Encode(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	for _, text := range []string{"", "{", `{"color":1}`, `{} {}`, `{"tasks":-1}`} {
		if _, err := Decode(text); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}

// TestCounts checks how tasks are spread over nodes.
func TestCounts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		r     Request
		nodes int
		want  []int
	}{
		{Request{}, 2, []int{1, 1}},
		{Request{TasksPerNode: 4}, 2, []int{4, 4}},
		{Request{Tasks: 5, TasksPerNode: 3}, 2, []int{3, 2}},
		{Request{Tasks: 1}, 1, []int{1}},
		{Request{}, 0, []int{}},
	} {
		if got := c.r.Counts(c.nodes); !slices.Equal(got, c.want) {
			t.Errorf("%+v on %d nodes: %v", c.r, c.nodes, got)
		}
	}
}
