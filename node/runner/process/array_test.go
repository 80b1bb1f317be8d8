package process

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/berth-gpu/berth/fsm/model"
)

func TestArrayVariables(t *testing.T) {
	for _, v := range []struct {
		spec model.Spec
		task uint32
		want []string
	}{
		{model.Spec{}, 0, nil},
		{
			model.Spec{Array: "3,7,9-12"},
			7,
			[]string{"BERTH_ARRAY_SIZE=6", "BERTH_ARRAY_MIN=3", "BERTH_ARRAY_MAX=12"},
		},
		{
			model.Spec{Array: "0-3", Sweep: "lr=1e-3,1e-4\nmode=fast,a\"b"},
			3,
			[]string{
				"BERTH_ARRAY_SIZE=4", "BERTH_ARRAY_MIN=0", "BERTH_ARRAY_MAX=3",
				"BERTH_PARAM_lr=1e-4", `BERTH_PARAM_mode=a"b`, `BERTH_PARAMS={"lr":1e-4,"mode":"a\"b"}`,
			},
		},
		{model.Spec{Sweep: "not a sweep"}, 0, nil},
		{model.Spec{Array: "nor an array"}, 0, nil},
	} {
		if got := array(&v.spec, v.task); !slices.Equal(got, v.want) {
			t.Errorf("task %d of %+v finds %q, want %q", v.task, v.spec, got, v.want)
		}
	}
}

// Whatever the values are, the object is JSON and holds them.
func TestParamsAreJSON(t *testing.T) {
	values := map[string]any{
		"a": "", "b": 5.0, "c": -1e9, "d": true, "e": "01", "f": "null", "g": `{"x":1}`, "h": "[1]", "i": "ü\u2028", "j": "-",
		"k": "1.", "l": `\`, "m": "0x10", "n": "NaN", "o": "False", "p": "1 2",
	}
	texts := map[string]string{"b": "5", "c": "-1e9", "d": "true"}
	var params []model.Param
	for _, name := range slices.Sorted(maps.Keys(values)) {
		text, is := values[name].(string)
		if !is {
			text = texts[name]
		}
		params = append(params, model.Param{Name: name, Value: text})
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(object(params)), &got); err != nil || !maps.Equal(got, values) {
		t.Errorf("%s is read as %v (%v)", object(params), got, err)
	}
}
