package listing

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/httpapi/problem"
)

// thing is an entry of a list in these tests.
type thing struct {
	id    int64
	color string
	size  int64
}

// shown is its form in answers.
type shown struct {
	Inner

	ID    int64     `json:"id"`
	Color string    `json:"color,omitempty"`
	At    time.Time `json:"at,omitzero"`
	Sizes []int64   `json:"sizes,omitempty"`
}

// Inner is embedded in the form.
type Inner struct {
	Owner string `json:"owner"`
}

func things() *Table[*thing] {
	color := func(t *thing) string { return t.color }
	size := func(t *thing) int64 { return t.size }
	return &Table[*thing]{
		Sort: "id", Desc: true, Entry: reflect.TypeFor[shown](), ID: func(t *thing) Key { return Key{Number: t.id} },
		Fields: []Field[*thing]{
			{Name: "id", Key: func(t *thing) Key { return Key{Number: t.id} }},
			{Name: "color", Parse: Texts(color), Key: func(t *thing) Key { return Key{Text: color(t)} }},
			{Name: "shade", Parse: Words(color, "red", "green", "blue")},
			{Name: "like", Parse: Pattern(color)},
			{Name: "q", Parse: Search(func(t *thing) []string { return []string{t.color, "thing"} })},
			{Name: "size", Parse: Numbers(size), Key: func(t *thing) Key { return Key{Number: size(t)} }},
			{Name: "big", Parse: Flag(func(t *thing) bool { return t.size > 5 })},
		},
	}
}

func chosen(t *testing.T, query string) (*Selection[*thing], error) {
	t.Helper()
	values, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	return things().Select(context.WithValue(t.Context(), valuesKey{}, values))
}

func all(list []thing) iter.Seq[*thing] {
	return func(yield func(*thing) bool) {
		var row thing // as lists of the state do it
		for _, row = range list {
			if !yield(&row) {
				return
			}
		}
	}
}

func idOf(t *thing) int64 { return t.id }

func TestForms(t *testing.T) {
	t.Parallel()
	list := []thing{{1, "red", 1}, {2, "green", 4}, {3, "blue", 7}, {4, "red, dark", 9}}
	for query, want := range map[string][]int64{
		"":                         {4, 3, 2, 1},
		"order=asc":                {1, 2, 3, 4},
		"color=red":                {1},
		"color=red,+blue":          {3, 1},
		"color=red%2C+dark":        {4, 1},
		"shade=RED,green":          {2, 1},
		"like=*e*":                 {4, 3, 2, 1},
		"like=r*d":                 {1},
		"like=r*d*":                {4, 1},
		"like=*dark":               {4},
		"like=re":                  {},
		"like=**":                  {4, 3, 2, 1},
		"like=red*red":             {},
		"q=GRE":                    {2},
		"q=thing":                  {4, 3, 2, 1},
		"size=4":                   {2},
		"size=1,7-":                {4, 3, 1},
		"size=-4":                  {2, 1},
		"size=4-7":                 {3, 2},
		"big=true":                 {4, 3},
		"big=false&sort=size":      {1, 2},
		"sort=color":               {3, 2, 1, 4},
		"sort=color&order=desc":    {4, 1, 2, 3},
		"sort=size&order=desc":     {4, 3, 2, 1},
		"fields=id,owner&size=1-8": {3, 2, 1},
	} {
		s, err := chosen(t, query)
		if err != nil {
			t.Errorf("%s: %v", query, err)
			continue
		}
		if got, next, _ := Page(s, Place{}, 0, false, all(list), idOf); !slices.Equal(got, want) || !next.Over {
			t.Errorf("%q: %v, not %v; next %+v", query, got, want, next)
		}
	}
}

// What is not known is refused with the name that was probably meant and all that there are.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for query, want := range map[string][2]string{
		"sort=colour":                    {"sort", `"colour" is not a field that the list can be sorted by; did you mean color? Known are id, color, size`},
		"sort=q":                         {"sort", `"q" is not a field that the list can be sorted by. Known are id, color, size`},
		"order=up":                       {"order", `must be asc or desc, not "up"`},
		"shade=reed":                     {"shade", `"reed" is not one of its values; did you mean red? Known are red, green, blue`},
		"fields=id,ownr":                 {"fields", `"ownr" is not a field of the entries; did you mean owner? Known are owner, id, color, at, sizes`},
		"fields=id,,at":                  {"fields", `has an empty item: "id,,at"`},
		"count=2":                        {"count", `must be true or false, not "2"`},
		"big=yes":                        {"big", `must be true or false, not "yes"`},
		"size=x":                         {"size", `must be numbers such as 4, 1,3, 2-8, 8- or -8, not "x"`},
		"size=8-2":                       {"size", `must be numbers such as 4, 1,3, 2-8, 8- or -8, not "8-2"`},
		"size=-":                         {"size", `must be numbers such as 4, 1,3, 2-8, 8- or -8, not "-"`},
		"color=a,":                       {"color", `has an empty item: "a,"`},
		"q=" + strings.Repeat("x", 4097): {"q", "must have at most 4096 bytes, not 4097"},
	} {
		_, err := chosen(t, query)
		f, is := err.(*problem.Failure) //nolint:errorlint // it is returned as it was made
		if !is || len(f.Errors) != 1 || f.Errors[0].Field != want[0] || f.Errors[0].Message != want[1] {
			t.Errorf("%s: %+v", query, err)
		}
	}
}

// Pages hold each entry that exists while they are read, with the same value, once, whatever else comes, goes and changes.
func TestPagesUnderChanges(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		query := []string{"", "order=asc", "sort=color", "sort=color&order=desc", "sort=size", "color=c1,c2&sort=size&order=desc"}[r.IntN(6)]
		s, err := chosen(t, query)
		if err != nil {
			t.Fatal(err)
		}
		by, desc := s.Sort()
		next := int64(0)
		draw := func() thing { next++; return thing{next, fmt.Sprint("c", r.IntN(4)), r.Int64N(5)} }
		var list []thing
		for range r.IntN(60) {
			list = append(list, draw())
		}
		stays := map[int64]bool{}
		for _, one := range list {
			stays[one.id] = one.id%3 > 0
		}
		seen := map[int64]int{}
		text := ""
		for pages := 0; ; pages++ {
			at, err := s.Places("after", text, 1)
			if err != nil || pages > 200 {
				t.Fatalf("page %d: %v", pages, err)
			}
			sorted := by == "id"
			rows := slices.Clone(list)
			if sorted && desc {
				slices.Reverse(rows)
			}
			page, after, _ := Page(s, at[0], 1+r.IntN(7), sorted, all(rows), func(t *thing) thing { return *t })
			for i := range page {
				seen[page[i].id]++
				if i > 0 && s.compare(s.by.Key(&page[i-1]), s.table.ID(&page[i-1]), s.by.Key(&page[i]), s.table.ID(&page[i])) >= 0 {
					t.Fatalf("%q: %v before %v", query, page[i-1], page[i])
				}
			}
			if text = s.Cursor(after); text == "" {
				break
			}
			list = slices.DeleteFunc(list, func(one thing) bool { return !stays[one.id] && r.IntN(4) == 0 })
			for range r.IntN(3) {
				list = append(list, draw())
			}
			for i := range list {
				if !stays[list[i].id] {
					list[i].size = r.Int64N(5)
				}
			}
			slices.SortFunc(list, func(a, b thing) int { return cmp.Compare(a.id, b.id) })
		}
		for i := range list {
			if one := &list[i]; stays[one.id] && s.Matches(one) != (seen[one.id] == 1) {
				t.Fatalf("seed %d, %q: %+v is on %d pages", seed, query, *one, seen[one.id])
			}
		}
	}
}

// A list in an order of its own goes on after the newest of its last entries that is left.
func TestPagesInAnOrderOfTheirOwn(t *testing.T) {
	t.Parallel()
	s, err := chosen(t, "color=red")
	if err != nil {
		t.Fatal(err)
	}
	var list []thing
	for i := range int64(100) {
		list = append(list, thing{id: i + 1, color: []string{"red", "blue"}[i%2]})
	}
	first, at, _ := PageOf(s, Place{}, 10, all(list), idOf)
	if !slices.Equal(first, []int64{1, 3, 5, 7, 9, 11, 13, 15, 17, 19}) {
		t.Fatalf("first %v", first)
	}
	without := func(ids ...int64) iter.Seq[*thing] {
		return all(slices.DeleteFunc(slices.Clone(list), func(one thing) bool { return slices.Contains(ids, one.id) }))
	}
	for name, v := range map[string]struct {
		rows iter.Seq[*thing]
		want []int64
	}{
		"nothing has changed":       {all(list), []int64{21, 23}},
		"the front has started":     {without(1, 3, 5), []int64{21, 23}},
		"the last one has started":  {without(19, 17), []int64{21, 23}},
		"all have started":          {without(first...), []int64{21, 23}},
		"the last one is the first": {all(slices.Concat([]thing{list[18]}, list[:18], list[19:])), []int64{1, 3}},
	} {
		if got, _, _ := PageOf(s, at, 2, v.rows, idOf); !slices.Equal(got, v.want) {
			t.Errorf("%s: %v, not %v", name, got, v.want)
		}
	}
	n, pages := 0, 0
	for place := (Place{}); !place.Over; pages++ {
		var page []int64
		if page, place, _ = PageOf(s, place, 7, all(list), idOf); len(page) == 0 || pages > 100 {
			t.Fatalf("page %d is %v", pages, page)
		}
		n += len(page)
	}
	if n != 50 || pages != 8 {
		t.Errorf("%d entries on %d pages", n, pages)
	}
	counted, _ := chosen(t, "color=red&count=true")
	if _, _, total := PageOf(counted, at, 2, all(list), idOf); total != 50 {
		t.Errorf("counted %d", total)
	}
	if page, next, total := PageOf(counted, Place{Over: true}, 2, all(list), idOf); len(page) > 0 || !next.Over || total != 50 {
		t.Errorf("over: %v %+v %d", page, next, total)
	}
}

// A cursor is good for the same sort and filters only; other fields and another limit do not matter.
func TestCursors(t *testing.T) {
	t.Parallel()
	s, _ := chosen(t, "color=red&sort=size")
	text := s.Cursor(Place{Begun: true, Last: Key{Number: 3}, ID: Key{Number: 9}}, Place{Over: true})
	for query, want := range map[string]string{
		"color=red&sort=size":                   "",
		"color=red&sort=size&fields=id&count=1": "",
		"color=red":                             "is of a request with another sort, another order or other filters",
		"color=red&sort=size&order=desc":        "is of a request with another sort, another order or other filters",
		"color=blue&sort=size":                  "is of a request with another sort, another order or other filters",
		"sort=size":                             "is of a request with another sort, another order or other filters",
	} {
		other, err := chosen(t, query)
		if err != nil {
			t.Fatal(err)
		}
		at, err := other.Places("after", text, 2)
		if want == "" && (err != nil || at[0].Last.Number != 3 || !at[1].Over) || want != "" && !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%s: %+v, %v", query, at, err)
		}
	}
	for _, bad := range []string{"x", "7", "e30", text[1:], text + "A"} {
		if _, err := s.Places("after", bad, 2); !strings.Contains(fmt.Sprint(err), "must be the next of a page before") {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if _, err := s.Places("after", text, 1); err == nil {
		t.Error("a cursor of two lists is good for one")
	}
	if s.Cursor(Place{Over: true}, Place{Over: true}) != "" {
		t.Error("there is a next page after the last")
	}
}

// An answer with some fields is what the whole answer is with the others removed.
func TestProjections(t *testing.T) {
	t.Parallel()
	type answer struct {
		Things []shown          `json:"things"`
		More   []shown          `json:"more,omitempty"`
		None   []shown          `json:"none"`
		Other  map[string]int64 `json:"other"`
		Next   string           `json:"next,omitempty"`
	}
	body := &answer{
		Things: []shown{{Inner{"ann"}, 1, "r<d", time.Time{}, nil}, {Inner{"bob"}, 2, "", time.Unix(5, 0).UTC(), []int64{3}}},
		None:   []shown{}, Other: map[string]int64{"id": 4},
	}
	for _, only := range [][]string{{"id"}, {"owner", "color"}, {"at", "sizes", "id"}, {"color", "owner", "id", "at", "sizes"}} {
		p := &projection{body: reflect.ValueOf(body).Elem(), entry: reflect.TypeFor[shown](), only: only}
		got, err := p.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		whole, _ := json.Marshal(body)
		type plain struct {
			Things, More, None []map[string]any
			Other              map[string]int64
			Next               *string
		}
		var want, is plain
		if json.Unmarshal(whole, &want) != nil || json.Unmarshal(got, &is) != nil {
			t.Fatalf("%s", got)
		}
		for _, one := range want.Things {
			maps.DeleteFunc(one, func(name string, _ any) bool { return !slices.Contains(only, name) })
		}
		if !reflect.DeepEqual(want, is) || strings.Contains(string(got), `\u003c`) {
			t.Errorf("%v: %s", only, got)
		}
	}
}
