package partition

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// TestParse checks what a table means, and that each fault is named.
func TestParse(t *testing.T) {
	t.Parallel()
	got, err := Parse(" gpu default constraint=zone=a,!spot max_time=2d default_time=1h;debug max_time=30m max_gpus=2 max_nodes=1 priority=high ; cpu;")
	want := []Entry{
		{Name: "gpu", Default: true, Constraint: "!spot,zone=a", MaxTime: 48 * time.Hour, DefaultTime: time.Hour},
		{Name: "debug", MaxTime: 30 * time.Minute, MaxGPUs: 2, MaxNodes: 1, Class: model.ClassHigh},
		{Name: "cpu"},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("read %+v, %v", got, err)
	}
	for text, want := range map[string]string{
		"gpu; gpu":                           `"gpu" is no name`,
		"a=b":                                `"a=b" is no name`,
		"gpu max_time=2":                     "gpu: \"max_time=2\"",
		"gpu max_time=0d":                    "not allowed",
		"gpu max_time=999999999d":            "not allowed",
		"gpu max_gpus=0":                     "not allowed",
		"gpu max_nodes=x":                    "not allowed",
		"gpu priority=critical":              "not allowed",
		"gpu constraint=a b":                 `"b" is not known`,
		"gpu constraint==":                   "gpu: ",
		"gpu default=yes":                    "not allowed",
		"gpu colour=red":                     `"colour=red" is not known`,
		"a default; b default":               "2 entries are the default",
		"a max_time=1h default_time=2h":      "longer than max_time",
		strings.Repeat("x", model.MaxData+1): "it may have",
	} {
		if got, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %+v, %v, want %s", text, got, err, want)
		}
	}
}

// TestFind checks which entry counts for a name, a list and no name.
func TestFind(t *testing.T) {
	t.Parallel()
	table := []Entry{{Name: "gpu"}, {Name: "cpu", Default: true}}
	for names, want := range map[string]string{"gpu": "gpu", "x,cpu,gpu": "cpu", "": "cpu", "x": "none", "x,": "none"} {
		e, got := Find(table, names), "none"
		if e != nil {
			got = e.Name
		}
		if got != want {
			t.Errorf("%q is %s, want %s", names, got, want)
		}
	}
	if e := Find(table[:1], ""); e != nil {
		t.Errorf("without a default there is %+v", e)
	}
}
