package apply

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/berth-gpu/berth/fsm/state"
)

// firstDifference names the first table or index in which two states differ and
// shows its rows; it is empty when they do not differ.
func firstDifference(a, b *state.State) string {
	x, y := contents(a), contents(b)
	for i := range x {
		if x[i] != y[i] {
			return x[i] + "\nagainst\n" + y[i]
		}
	}
	return ""
}

// besideTheTrail is firstDifference except for the head of the audit trail, which also records commands
// without other effects.
func besideTheTrail(a, b *state.State) string {
	cut := func(text string) string {
		at := strings.Index(text, " Audit:{")
		if at < 0 {
			return text
		}
		return text[:at] + text[at+strings.Index(text[at:], "}"):]
	}
	x, y := contents(a), contents(b)
	for i := range x {
		if p, q := cut(x[i]), cut(y[i]); p != q {
			return p + "\nagainst\n" + q
		}
	}
	return ""
}

// contents prints every table and index.
func contents(s *state.State) (out []string) {
	for _, group := range []any{s.Tables, s.Indexes} {
		v := reflect.ValueOf(group)
		for i := range v.NumField() {
			var b strings.Builder
			fmt.Fprintln(&b, v.Type().Field(i).Name)
			for key, row := range v.Field(i).MethodByName("All").Call(nil)[0].Seq2() {
				fmt.Fprintf(&b, "%+v: %+v\n", key, row)
			}
			out = append(out, b.String())
		}
	}
	return out
}
