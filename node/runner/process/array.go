package process

import (
	"encoding/json"
	"strings"

	"github.com/berth-gpu/berth/fsm/model"
)

// array returns the variables that describe a task's place in an array:
//
//	BERTH_ARRAY_SIZE, BERTH_ARRAY_MIN, BERTH_ARRAY_MAX   how many tasks, the first and the last number
//	BERTH_PARAM_name                                     of a sweep: the parameter's value in this task
//	BERTH_PARAMS                                         all of them, as a JSON object
func array(spec *model.Spec, task uint32) (env []string) {
	if all, err := model.ParseIndices(spec.Array); err == nil && spec.Array != "" {
		env = assign(
			"BERTH_ARRAY_SIZE", decimal(uint32(len(all))),
			"BERTH_ARRAY_MIN", decimal(all[0]),
			"BERTH_ARRAY_MAX", decimal(all[len(all)-1]),
		)
	}
	params := spec.Params(task)
	if params == nil {
		return env
	}
	for _, p := range params {
		env = append(env, "BERTH_PARAM_"+p.String())
	}
	return append(env, "BERTH_PARAMS="+object(params))
}

// object formats parameters as a JSON object in their order. Numbers, true and false stay what they are;
// everything else is text.
func object(params []model.Param) string {
	fields := make([]string, 0, len(params))
	for _, p := range params {
		value := []byte(p.Value)
		if !isScalar(p.Value) {
			value, _ = json.Marshal(p.Value) // text can always be written
		}
		fields = append(fields, `"`+p.Name+`":`+string(value))
	}
	return "{" + strings.Join(fields, ",") + "}"
}

func isScalar(text string) bool {
	switch {
	case text == "true" || text == "false":
		return true
	case text == "" || strings.TrimLeft(text[:1], "-0123456789") != "":
		return false
	}
	return json.Valid([]byte(text))
}
