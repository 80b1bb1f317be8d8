package strict

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/berth-gpu/berth/slurm/nearest"
)

// Field describes a field of a body.
type Field struct {
	Doc         string
	Least, Most int64 // bounds of a number; Most 0: it has none
}

// With returns the parser of a body whose fields a table describes, by name.
func (s Parser[T]) With(table map[string]Field) Parser[T] {
	s.table = table
	return s
}

// Fields returns the descriptions of the fields that a table describes, by name.
func (s Parser[T]) Fields() map[string]Field { return s.table }

// Names returns the names of all fields.
func (s Parser[T]) Names() []string { return s.names }

// Empty returns what of a field may be empty: "text", "items", "never" for a list that has items, or "" for nothing.
func (s Parser[T]) Empty(name string) string { return s.empty[name] }

// boundsOf returns ", 1 to 10" for a field that is described with its bounds, else nothing: 1e9 is
// a whole number for the writer of the request.
func (s Parser[T]) boundsOf(name string) string {
	if f := s.table[name]; f.Most > 0 {
		return fmt.Sprintf(", %d to %d", f.Least, f.Most)
	}
	for f := range reflect.TypeFor[T]().Fields() {
		if of, _, _ := strings.Cut(f.Tag.Get("json"), ","); of != name {
			continue
		}
		if low, high := f.Tag.Get("minimum"), f.Tag.Get("maximum"); low != "" && high != "" {
			return ", " + low + " to " + high
		}
	}
	return ""
}

// Unknown returns the message about a name that is not known, such as of a parameter: the nearest one, and all that there are.
func Unknown(name, what string, known []string) string {
	text := strconv.Quote(Clip(name)) + " is not " + what
	if near := nearest.Word(name, known, 1+len(name)/3); near != "" {
		text += "; did you mean " + near + "?"
	} else {
		text += "."
	}
	if len(known) == 0 {
		return text + " There are none"
	}
	return text + " Known are " + strings.Join(known, ", ")
}
