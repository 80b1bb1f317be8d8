package history

import "slices"

// Columns returns columns over so many steps from a minute on; a step is so many minutes. A column has the mean of the
// values of each step, or the greatest of them; nil where there is none.
func Columns(records []Record, from Minute, step, steps int, columns []Column) [][]*float64 {
	out := make([][]*float64, len(columns))
	for i := range out {
		out[i] = make([]*float64, steps)
	}
	for len(records) > 0 {
		at := int(records[0].Minute-from) / step
		n := slices.IndexFunc(records, func(r Record) bool { return int(r.Minute-from)/step != at })
		if n < 0 {
			n = len(records)
		}
		if records[0].Minute >= from && at < steps {
			for i, c := range columns {
				out[i][at] = c.of(records[:n])
			}
		}
		records = records[n:]
	}
	return out
}

// of returns the value of a column for the records of one step.
func (c Column) of(records []Record) *float64 {
	sum, most, n := 0.0, 0.0, 0
	for i := range records {
		if v, known := records[i].Values.Get(c.Series); known {
			sum, most, n = sum+v, max(most, v), n+1
		}
	}
	switch {
	case n == 0:
		return nil
	case c.Max:
		return &most
	case n == 1:
		return &sum
	}
	mean := float64(int64(100*sum/float64(n)+0.5)) / 100
	return &mean
}
