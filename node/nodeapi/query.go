package nodeapi

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"unicode/utf8"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// maxTail bounds the lines that tail asks for.
const maxTail = 1_000_000

// Bounds of answers to requests for a part of the output, in bytes.
const (
	defaultPiece  = 64 << 10  // of the part ahead of an offset
	defaultSearch = 256 << 10 // of the lines with a text
)

// none is an offset that was not given.
const none = -1

// query is a parsed request for output.
type query struct {
	rank   model.RankKey
	stream Stream
	tail   int // lines; -1: from the beginning
	follow bool

	bytes  bool  // the answer consists of bytes of the output only, and ends where a part was not kept
	offset int64 // that the answer begins at, or none
	before int64 // that the answer ends at, or none
	limit  int64 // most bytes of the answer; 0: no limit
	grep   string
	fold   bool // upper and lower case are alike
}

// parse parses a query. Job, attempt and rank are required; unknown names, names that come twice and anything
// that is not a plain number are refused.
func parse(values url.Values) (query, error) {
	q := query{stream: Stdout, tail: -1, offset: none, before: none}
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
	return q, q.complete()
}

// complete checks what excludes each other, and fills in defaults.
func (q *query) complete() error {
	switch {
	case q.offset != none && (q.tail >= 0 || q.before != none):
		return errors.New("offset: excludes tail and before")
	case q.before != none && (q.tail >= 0 || q.follow):
		return errors.New("before: excludes tail and follow")
	case q.grep != "" && (q.tail >= 0 || q.follow || q.before != none):
		return errors.New("grep: excludes tail, follow and before")
	case q.fold && q.grep == "":
		return errors.New("ignore_case: needs grep")
	}
	q.bytes = q.bytes || q.offset != none || q.before != none || q.limit > 0
	switch {
	case q.limit > 0:
	case q.grep != "":
		q.limit = defaultSearch
	case q.before != none:
		q.limit = defaultPiece
	}
	return nil
}

func (q *query) set(name, value string) error {
	switch name {
	case "stream":
		if q.stream = Stream(value); q.stream != Stdout && q.stream != Stderr {
			return fmt.Errorf("stream: must be stdout or stderr")
		}
		return nil
	case "follow":
		return setBool(&q.follow, name, value)
	case "bytes":
		return setBool(&q.bytes, name, value)
	case "ignore_case":
		return setBool(&q.fold, name, value)
	case "grep":
		if q.grep = value; value == "" || len(value) > wire.MaxLogSearch || !utf8.ValidString(value) {
			return fmt.Errorf("grep: must be a text of 1 to %d bytes", wire.MaxLogSearch)
		}
		return nil
	}
	return q.setNumber(name, value)
}

func setBool(to *bool, name, value string) (err error) {
	if *to, err = strconv.ParseBool(value); err != nil {
		return fmt.Errorf("%s: must be true or false", name)
	}
	return nil
}

func (q *query) setNumber(name, value string) (err error) {
	bits := 32
	switch name {
	case "job":
		bits = 64
	case "offset", "before":
		bits = 62
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
	case "offset":
		q.offset, err = int64(number), notNumber
	case "before":
		q.before, err = int64(number), notNumber
	case "limit_bytes":
		if q.limit, err = int64(small), notNumber; err == nil && (small < 1 || small > wire.MaxLogPiece) {
			err = fmt.Errorf("limit_bytes: must be 1 to %d", wire.MaxLogPiece)
		}
	default:
		err = fmt.Errorf("%s: is no parameter; job, task, attempt, rank, stream, tail, follow, bytes, offset, before, limit_bytes, grep and ignore_case are", name)
	}
	return err
}
