package history

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/berth-gpu/berth/files/private"
	"github.com/berth-gpu/berth/files/smallfile"
)

// content is the value of the file: columns of differences to the value before, which are mostly small, so that 24 hours
// take some tens of kilobytes.
type content struct {
	Cluster string             `json:"cluster"`
	Minutes []int64            `json:"minutes"`
	Terms   []int64            `json:"terms"`
	Series  map[string][]int64 `json:"series"`
}

// differences replaces the values of a column by their differences.
func differences(list []int64) []int64 {
	for i := len(list) - 1; i > 0; i-- {
		list[i] -= list[i-1]
	}
	return list
}

// sums is the inverse of differences.
func sums(list []int64) []int64 {
	for i := 1; i < len(list); i++ {
		list[i] += list[i-1]
	}
	return list
}

// encode returns records as the content of a file.
func encode(cluster string, records []Record) *content {
	c := &content{Cluster: cluster, Minutes: make([]int64, len(records)), Terms: make([]int64, len(records)), Series: map[string][]int64{}}
	for i := range records {
		c.Minutes[i], c.Terms[i] = int64(records[i].Minute), int64(records[i].Term)
	}
	differences(c.Minutes)
	differences(c.Terms)
	for _, s := range AllSeries() {
		column := make([]int64, len(records))
		for i := range records {
			column[i] = records[i].Values[s]
		}
		c.Series[s.String()] = differences(column)
	}
	return c
}

// decode returns the records of a file's content. A series that the file lacks has no values, and one that this program
// does not know is left out.
func decode(c *content) ([]Record, error) {
	n := len(c.Minutes)
	if len(c.Terms) != n || n > Kept+ahead {
		return nil, fmt.Errorf("it has %d minutes, where %d are the most, and %d terms", n, Kept+ahead, len(c.Terms))
	}
	out := make([]Record, n)
	minutes, terms := sums(c.Minutes), sums(c.Terms)
	for i := range out {
		out[i] = Record{Minute: Minute(minutes[i]), Term: uint64(terms[i]), Values: noValues()}
		if terms[i] < 0 || minutes[i] < 0 || i > 0 && minutes[i] <= minutes[i-1] {
			return nil, errors.New("its minutes are out of order")
		}
	}
	for _, s := range AllSeries() {
		column, found := c.Series[s.String()]
		if !found {
			continue
		}
		if len(column) != n {
			return nil, fmt.Errorf("%s has %d values of %d", s, len(column), n)
		}
		for i, v := range sums(column) {
			out[i].Values[s] = max(v, None)
		}
	}
	return out, nil
}

// errForeign means that a file is of another cluster.
var errForeign = errors.New("it is of another cluster")

// read returns the records of the file at path. A missing file has none.
func read(path, cluster string) ([]Record, error) {
	var c content
	switch err := smallfile.Read(path, &c); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case c.Cluster != cluster:
		return nil, fmt.Errorf("%w, %q", errForeign, c.Cluster)
	}
	list, err := decode(&c)
	if err != nil {
		return nil, &smallfile.DamagedError{Path: path, Why: err.Error()}
	}
	return list, nil
}

// write replaces the file at path.
func write(path, cluster string, records []Record) error {
	if _, err := private.Folder(filepath.Dir(path)); err != nil {
		return err
	}
	return smallfile.Write(path, encode(cluster, records))
}

// asideSuffix is in the name of a file that was put aside. There is at most one: the last.
const asideSuffix = ".aside"

// putAside renames a file that cannot be used, in place of one that was put aside before.
func putAside(path string) error {
	_ = os.RemoveAll(path + asideSuffix) // an older one
	return os.Rename(path, path+asideSuffix)
}
