package listing

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"iter"
	"slices"

	"github.com/berth-gpu/berth/httpapi/problem"
)

// Key is a value that entries are sorted by: a number, a text, or a number and then a text.
type Key struct {
	Number int64  `json:"n,omitempty"`
	Text   string `json:"t,omitempty"`
}

// Compare returns a negative number if a comes before b.
func (a Key) Compare(b Key) int {
	return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Text, b.Text))
}

// Place is how far the pages of a list have come.
type Place struct {
	Begun bool `json:"b,omitempty"`
	Over  bool `json:"o,omitempty"` // there are no more entries
	Last  Key  `json:"k,omitzero"`  // of the last entry: what the list is sorted by
	ID    Key  `json:"i,omitzero"`  // of the last entry
	// Trail is the ids of the last entries, of a list whose order is not that of a key.
	Trail []Key `json:"l,omitempty"`
}

// cursor is the content of the cursor of a page: the places in all lists of the answer.
type cursor struct {
	Mark   string  `json:"m"`
	Places []Place `json:"p"`
}

// Cursor returns the cursor of the next page; empty: all lists are over. It does not depend on the peer that
// made it.
func (s *Selection[R]) Cursor(places ...Place) string {
	if !slices.ContainsFunc(places, func(p Place) bool { return !p.Over }) {
		return ""
	}
	text, err := json.Marshal(cursor{s.mark, places})
	if err != nil {
		return "" // keys are numbers and texts
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// Places parses the cursor of an answer with many lists, given as the named parameter; an empty one gives the
// beginnings. The cursor of a request with another sort or other filters is refused: its place has no meaning here.
func (s *Selection[R]) Places(param, text string, many int) ([]Place, error) {
	if text == "" {
		return make([]Place, many), nil
	}
	var c cursor
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || json.Unmarshal(data, &c) != nil || len(c.Places) != many {
		return nil, problem.Invalid(param, "must be the next of a page before: "+cursorUse)
	}
	if c.Mark != s.mark {
		return nil, problem.Invalid(param, "is of a request with another sort, another order or other filters: "+cursorUse)
	}
	return c.Places, nil
}

const cursorUse = "repeat the request of that page with after or before as its only addition, or begin again without it"

// candidate is an entry that may be on the page.
type candidate[T any] struct {
	key, id Key
	row     T
}

// compare orders two entries as the selection asks.
func (s *Selection[R]) compare(aKey, aID, bKey, bID Key) int {
	n := cmp.Or(aKey.Compare(bKey), aID.Compare(bID))
	if s.desc {
		return -n
	}
	return n
}

// Page returns the rows of the page that begins at a place, the place of the next, and with count how many match on all
// pages. A limit of 0 means all. take returns what is to be kept of a row that may be on the page. With sorted the rows come
// in the order that the request asks for, and are read only as far as needed.
//
// A page begins after the sort key and the id of the last entry of the page before. So an entry that exists while all pages are
// read, with the same value, is on one page, whatever is added, removed or changed meanwhile.
func Page[R, T any](s *Selection[R], at Place, limit int, sorted bool, rows iter.Seq[R], take func(R) T) (page []T, next Place,
	total int64,
) {
	g := gathering[R, T]{selection: s, at: at, limit: limit, sorted: sorted, take: take}
	for r := range rows {
		if at.Over && !s.count {
			break
		}
		if !s.Matches(r) {
			continue
		}
		total++
		if g.add(r); g.done() && !s.count {
			break
		}
	}
	page, next = g.page()
	return page, next, total
}

// gathering collects the entries of a page.
type gathering[R, T any] struct {
	selection *Selection[R]
	at        Place
	limit     int // 0: none
	sorted    bool
	take      func(R) T
	list      []candidate[T] // at least the page and one more, if there are as many
	cut       bool           // the list has been cut to the page and one more, and the last one bounds what can still come
}

// done reports whether no further row can be on the page.
func (g *gathering[R, T]) done() bool { return g.sorted && g.limit > 0 && len(g.list) > g.limit }

// add looks at one row.
func (g *gathering[R, T]) add(r R) {
	s := g.selection
	key, id := s.by.Key(r), s.table.ID(r)
	switch {
	case g.at.Over, g.done(), g.at.Begun && s.compare(key, id, g.at.Last, g.at.ID) <= 0:
		return
	case g.cut && s.compare(key, id, g.list[g.limit].key, g.list[g.limit].id) >= 0:
		return
	}
	if g.list = append(g.list, candidate[T]{key, id, g.take(r)}); !g.sorted && g.limit > 0 && len(g.list) >= 2*g.limit+few {
		g.sort()
		g.list, g.cut = g.list[:g.limit+1], true
	}
}

// few is how many more entries than two pages are collected before they are sorted.
const few = 64

func (g *gathering[R, T]) sort() {
	slices.SortFunc(g.list, func(a, b candidate[T]) int { return g.selection.compare(a.key, a.id, b.key, b.id) })
}

// page returns the page, and the place of the next.
func (g *gathering[R, T]) page() (page []T, next Place) {
	if !g.sorted {
		g.sort()
	}
	list, more := g.list, false
	if g.limit > 0 && len(list) > g.limit {
		list, more = list[:g.limit], true
	}
	page, next = make([]T, 0, len(list)), Place{Over: true}
	for _, c := range list {
		page = append(page, c.row)
	}
	if more {
		last := list[len(list)-1]
		next = Place{Begun: true, Last: last.key, ID: last.id}
	}
	return page, next
}

// trailLength is how many ids of the last entries a place has: any of them that is still in the list finds it.
const trailLength = 32

// PageOf is Page for rows in an order of their own that is not that of a key, and that may change. The page begins after the last
// entry of the page before, or if that has left the list after the newest of the entries before it. When none of the last 32 is
// left, it begins with the list: then nothing is lost, but an entry may come again.
func PageOf[R, T any](s *Selection[R], at Place, limit int, rows iter.Seq[R], take func(R) T) (page []T, next Place, total int64) {
	page = []T{}
	if at.Over && !s.count {
		return page, at, 0
	}
	var ids []Key // of the page
	end, found, more := len(at.Trail)-1, -1, false
	for r := range rows {
		id := s.table.ID(r)
		matches := s.Matches(r)
		if matches {
			total++
		}
		if i := slices.Index(at.Trail, id); i >= 0 && found != end && !at.Over {
			found, page, ids, more = i, page[:0], ids[:0], false
			continue
		}
		switch {
		case !matches, at.Over:
		case limit == 0 || len(page) < limit:
			page, ids = append(page, take(r)), append(ids, id)
		case !s.count && found == end:
			return page, follow(at, ids), total
		default:
			more = true
		}
	}
	if !more {
		return page, Place{Over: true}, total
	}
	return page, follow(at, ids), total
}

// follow returns the place after a page of entries.
func follow(at Place, ids []Key) Place {
	trail := slices.Concat(at.Trail, ids)
	return Place{Begun: true, Trail: trail[max(0, len(trail)-trailLength):]}
}
