// Package listing selects entries of lists: it filters, sorts, counts and pages them, and picks the fields that an
// answer has. Each list has one table of its fields, from which its parameters, their description and their messages follow.
package listing

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/strict"
)

// Field is a field by which a list of R can be filtered or sorted.
type Field[R any] struct {
	Name string
	Doc  string // of the filter
	// Parse returns whether an entry passes the filter with a text; nil: the field is no filter.
	Parse func(text string) (func(R) bool, error)
	// Key returns the value of an entry that the list is sorted by; nil: it cannot be sorted by the field.
	Key func(R) Key
}

// NoFilter returns the field as one to sort by only.
func (f Field[R]) NoFilter() Field[R] {
	f.Parse = nil
	return f
}

// Table describes a list of R, rows that cost little to read. The answer's entries are built of the chosen rows only.
type Table[R any] struct {
	Fields []Field[R]
	Sort   string // the field that the list is sorted by if the request names none
	Desc   bool   // from the greatest value to the least, if the request does not name an order
	// ID returns the key that tells entries apart. Entries with equal sort keys are in its order.
	ID func(R) Key
	// Entry is the type of the answer's entries. Its JSON names are those that fields can name.
	Entry reflect.Type
}

// The parameters of every list, in addition to its filters.
const (
	paramSort   = "sort"
	paramOrder  = "order"
	paramFields = "fields"
	paramCount  = "count"
)

// entryType is the key of the metadata of an operation that holds the type of the entries.
const entryType = "listing entry"

// valuesKey is the key of a context for the parameters that Describe takes out of the query.
type valuesKey struct{}

// Describe adds the parameters of a list to an operation.
func (t *Table[R]) Describe(o huma.Operation) huma.Operation {
	taken := []string{paramSort, paramOrder, paramFields, paramCount}
	for i := range t.Fields {
		if f := &t.Fields[i]; f.Parse != nil {
			o.Parameters = append(o.Parameters, parameter(f.Name, f.Doc, &huma.Schema{Type: huma.TypeString, MaxLength: new(maxText)}))
			taken = append(taken, f.Name)
		}
	}
	usual := "asc"
	if t.Desc {
		usual = "desc"
	}
	o.Parameters = append(o.Parameters,
		parameter(paramSort, "the field that the list is sorted by; entries with equal values are in the order of their ids", enum(t.Sort, t.sorts()...)),
		parameter(paramOrder, "asc: the least value first; desc: the greatest; with the usual sort "+usual+" by default, with another asc", enum("", "asc", "desc")),
		parameter(paramFields, "names of fields of the entries, separated by commas: the answer's entries have these only", &huma.Schema{Type: huma.TypeString, MaxLength: new(maxText)}),
		parameter(paramCount, "also count the entries that match, on all pages", &huma.Schema{Type: huma.TypeBoolean}))
	if o.Metadata == nil {
		o.Metadata = map[string]any{}
	}
	o.Metadata[entryType] = t.Entry
	o.Middlewares = append(o.Middlewares, func(ctx huma.Context, next func(huma.Context)) {
		own := &taking{base: ctx, url: ctx.URL(), values: url.Values{}}
		query := own.url.Query()
		for _, name := range taken {
			if query.Has(name) {
				own.values.Set(name, query.Get(name))
				query.Del(name)
			}
		}
		own.url.RawQuery = query.Encode()
		next(own)
	})
	return o
}

// maxText bounds a filter, in bytes.
const maxText = 4096

func parameter(name, doc string, schema *huma.Schema) *huma.Param {
	return &huma.Param{Name: name, In: "query", Description: doc, Schema: schema}
}

func enum(usual string, values ...string) *huma.Schema {
	s := &huma.Schema{Type: huma.TypeString}
	for _, v := range values {
		s.Enum = append(s.Enum, v)
	}
	if usual != "" {
		s.Default = usual
	}
	return s
}

// base is the library's context, under a name that leaves Context to the method.
type base = huma.Context

// taking is the context of a request whose list has taken its parameters out of the query: the library does not know them.
type taking struct {
	base

	url    url.URL
	values url.Values
}

// URL returns the address without these parameters.
func (t *taking) URL() url.URL { return t.url }

// Context returns the context for the handler, which has them.
func (t *taking) Context() context.Context {
	return context.WithValue(t.base.Context(), valuesKey{}, t.values)
}

// Selection is what a request asks of a list.
type Selection[R any] struct {
	table   *Table[R]
	filters map[string]func(R) bool // by name
	by      *Field[R]
	desc    bool
	count   bool
	mark    string // of the sort and the filters
}

// Select returns what the request with a context asks of the list. Its error names the parameter.
func (t *Table[R]) Select(ctx context.Context) (*Selection[R], error) {
	values, _ := ctx.Value(valuesKey{}).(url.Values)
	s := &Selection[R]{table: t, filters: map[string]func(R) bool{}}
	for i := range t.Fields {
		f := &t.Fields[i]
		if f.Parse == nil || !values.Has(f.Name) {
			continue
		}
		text := values.Get(f.Name)
		if len(text) > maxText {
			return nil, problem.Invalid(f.Name, fmt.Sprintf("must have at most %d bytes, not %d", maxText, len(text)))
		}
		match, err := f.Parse(text)
		if err != nil {
			return nil, problem.Invalid(f.Name, err.Error())
		}
		s.filters[f.Name] = match
	}
	if err := s.order(values); err != nil {
		return nil, err
	}
	if err := checkFields(values.Get(paramFields), names(t.Entry)); err != nil {
		return nil, err
	}
	if values.Has(paramCount) {
		var err error
		if s.count, err = strconv.ParseBool(values.Get(paramCount)); err != nil {
			return nil, problem.Invalid(paramCount, "must be true or false, not "+strconv.Quote(values.Get(paramCount)))
		}
	}
	s.mark = s.markOf(values)
	return s, nil
}

// order parses what the list is sorted by.
func (s *Selection[R]) order(values url.Values) error {
	name := cmp.Or(values.Get(paramSort), s.table.Sort)
	i := slices.IndexFunc(s.table.Fields, func(f Field[R]) bool { return f.Key != nil && f.Name == name })
	if i < 0 {
		return problem.Invalid(paramSort, strict.Unknown(name, "a field that the list can be sorted by", s.table.sorts()))
	}
	s.by = &s.table.Fields[i]
	s.desc = name == s.table.Sort && s.table.Desc
	switch order := values.Get(paramOrder); order {
	case "":
	case "asc", "desc":
		s.desc = order == "desc"
	default:
		return problem.Invalid(paramOrder, "must be asc or desc, not "+strconv.Quote(order))
	}
	return nil
}

// markOf returns a short hash of the sort and the filters, by which a cursor of another selection is recognized.
func (s *Selection[R]) markOf(values url.Values) string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s %t", s.by.Name, s.desc)
	for _, name := range slices.Sorted(maps.Keys(s.filters)) {
		fmt.Fprintf(sum, "\n%s %q", name, values.Get(name))
	}
	return hex.EncodeToString(sum.Sum(nil)[:6])
}

// Sort returns the name of the field that the list is sorted by, and whether the greatest value comes first.
func (s *Selection[R]) Sort() (name string, desc bool) { return s.by.Name, s.desc }

// Counts reports whether the entries that match are to be counted.
func (s *Selection[R]) Counts() bool { return s.count }

// Only reports whether the request has no filters but the named ones.
func (s *Selection[R]) Only(names ...string) bool {
	for name := range s.filters { // order-free: any one decides
		if !slices.Contains(names, name) {
			return false
		}
	}
	return true
}

// Matches reports whether an entry passes all filters.
func (s *Selection[R]) Matches(r R) bool {
	for _, match := range s.filters { // order-free: all must pass
		if !match(r) {
			return false
		}
	}
	return true
}

// sorts returns the names of the fields that the list can be sorted by.
func (t *Table[R]) sorts() (out []string) {
	for i := range t.Fields {
		if t.Fields[i].Key != nil {
			out = append(out, t.Fields[i].Name)
		}
	}
	return out
}
