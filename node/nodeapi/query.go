package nodeapi

import (
	"fmt"
	"net/url"
	"strconv"

	"github.com/berth-gpu/berth/fsm/model"
)

// maxTail bounds the lines that tail asks for.
const maxTail = 1_000_000

// query is a parsed request for output.
type query struct {
	rank   model.RankKey
	stream Stream
	tail   int // lines; -1: from the beginning
	follow bool
}

// parse parses a query. Job, attempt and rank are required; unknown names, names that come twice and anything
// that is not a plain number are refused.
func parse(values url.Values) (query, error) {
	q := query{stream: Stdout, tail: -1}
	for name, list := range values {
		if len(list) != 1 {
			return q, fmt.Errorf("%s: must be given once", name)
		}
		if err := q.set(name, list[0]); err != nil {
			return q, err
		}
	}
	if q.rank.Job == 0 || q.rank.N == 0 {
		return q, fmt.Errorf("job and attempt: must be given, from 1")
	}
	return q, nil
}

func (q *query) set(name, value string) (err error) {
	bits := 32
	if name == "job" {
		bits = 64
	}
	number, notNumber := strconv.ParseUint(value, 10, bits)
	if notNumber != nil {
		notNumber = fmt.Errorf("%s: must be a number", name)
	}
	small := uint32(number)
	switch name {
	case "job":
		q.rank.Job, err = model.JobID(number), notNumber
	case "task":
		q.rank.Task, err = small, notNumber
	case "attempt":
		q.rank.N, err = small, notNumber
	case "rank":
		q.rank.Rank, err = small, notNumber
	case "tail":
		q.tail, err = int(min(small, maxTail)), notNumber
	case "stream":
		if q.stream = Stream(value); q.stream != Stdout && q.stream != Stderr {
			err = fmt.Errorf("stream: must be stdout or stderr")
		}
	case "follow":
		if q.follow, err = strconv.ParseBool(value); err != nil {
			err = fmt.Errorf("follow: must be true or false")
		}
	default:
		err = fmt.Errorf("%s: is no parameter; job, task, attempt, rank, stream, tail and follow are", name)
	}
	return err
}
