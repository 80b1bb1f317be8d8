package config

import (
	"slices"
	"strings"
)

// table is the settings, indexed by their names.
type table struct {
	rows     []Setting
	index    map[string]int
	others   map[string][]Other // by name and by variable
	sections map[string]bool
}

func newTable(rows []Setting) *table {
	t := plainTable(rows)
	for _, o := range otherNames() {
		if o.Name != "" {
			t.others[o.Name] = append(t.others[o.Name], o)
			t.open(o.Name)
		}
		if o.Env != "" {
			t.others[o.Env] = append(t.others[o.Env], o)
		}
	}
	return t
}

// plainTable returns a table without the names of other services.
func plainTable(rows []Setting) *table {
	t := &table{rows: rows, index: map[string]int{}, others: map[string][]Other{}, sections: map[string]bool{}}
	for i := range rows {
		t.index[rows[i].Name] = i
		t.open(rows[i].Name)
	}
	return t
}

// open adds the sections that a name is in.
func (t *table) open(name string) {
	for i, c := range name {
		if c == '.' {
			t.sections[name[:i]] = true
		}
	}
}

// given reports whether a setting has a value that is not empty.
func (l *Loaded) given(name string) bool {
	row := l.table.row(name)
	return row != nil && row.Value.Text() != ""
}

func (t *table) row(name string) *Setting {
	if i, found := t.index[name]; found {
		return &t.rows[i]
	}
	return nil
}

// has reports whether a file may give a value under a name.
func (t *table) has(name string) bool {
	if t.row(name) != nil {
		return true
	}
	return slices.ContainsFunc(t.others[name], func(o Other) bool { return o.Name == name })
}

func (t *table) shapeOf(name string) shape {
	if row := t.row(name); row != nil {
		return row.Value.shape()
	}
	if row := t.row(t.others[name][0].To); row != nil {
		return row.Value.shape()
	}
	return isScalar
}

// names returns all names that a file may hold.
func (t *table) names() (out []string) {
	for i := range t.rows {
		out = append(out, t.rows[i].Name)
	}
	for _, o := range otherNames() {
		if o.Name != "" && t.row(o.Name) == nil {
			out = append(out, o.Name)
		}
	}
	return slices.Compact(out)
}

// meant guesses which name was meant: a similar one of the same section, or the same one of another
// section.
func (t *table) meant(name string) string {
	known := t.names()
	for section := range t.sections { // order-free: names are sorted below
		known = append(known, section)
	}
	slices.Sort(known)
	if near := meant(name, known); near != "" {
		return near
	}
	_, last, _ := cutLast(name)
	for _, k := range known {
		if _, its, nested := cutLast(k); nested && its == last {
			return "; did you mean " + k + "?"
		}
	}
	return ""
}

func cutLast(name string) (section, last string, found bool) {
	i := strings.LastIndexByte(name, '.')
	if i < 0 {
		return "", name, false
	}
	return name[:i], name[i+1:], true
}
