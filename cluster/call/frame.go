package call

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/berth-gpu/berth/files/frame"
)

const (
	requestHeader  = 13      // id, milliseconds left, length of the name
	responseHeader = 9       // id, length of the kind
	helloFrame     = 1 << 10 // most bytes of a caller's first frame
	maxCaller      = 256     // bytes of a caller's id
	maxCallName    = 64      // bytes of the name of a call, or of a kind
	protocol       = 3
)

// The kinds of frames, which are part of the protocol.
const (
	frameHello   byte = 'H' // the first of a connection
	frameRequest byte = 'Q'
	frameAnswer  byte = 'A'
)

var errFrame = frame.ErrMalformed

// only returns the bounds of frames where one kind of frames is expected.
func only(expected byte, most int) func(kind byte) int {
	return func(kind byte) int {
		if kind != expected {
			return -1
		}
		return most
	}
}

// request and response are the content of frames. Numbers are big-endian.
type request struct {
	id     uint64
	budget time.Duration // what is left of the caller's time; counted in whole milliseconds on the wire
	name   string
	body   []byte
}

type response struct {
	id   uint64
	kind Kind // empty: done, and body is the answer; else body is the error's text
	body []byte
}

// size returns the bytes of the payload.
func (q request) size() int { return requestHeader + len(q.name) + len(q.body) }

func (q request) frame() []byte {
	var head [requestHeader + maxCallName]byte
	b := binary.BigEndian.AppendUint64(head[:0], q.id)
	b = binary.BigEndian.AppendUint32(b, uint32(q.budget/time.Millisecond))
	b = append(append(b, byte(len(q.name))), q.name...)
	return frame.Append(make([]byte, 0, frame.Header+q.size()), frameRequest, b, q.body)
}

func parseRequest(payload []byte) (request, error) {
	if len(payload) < requestHeader || len(payload) < requestHeader+int(payload[12]) {
		return request{}, fmt.Errorf("%w: a call of %d bytes", errFrame, len(payload))
	}
	end := requestHeader + int(payload[12])
	return request{
		id:     binary.BigEndian.Uint64(payload),
		budget: time.Duration(binary.BigEndian.Uint32(payload[8:])) * time.Millisecond,
		name:   string(payload[requestHeader:end]),
		body:   payload[end:],
	}, nil
}

// size returns the bytes of the payload.
func (a response) size() int { return responseHeader + len(a.kind) + len(a.body) }

func (a response) frame() []byte {
	var head [responseHeader + maxCallName]byte
	b := binary.BigEndian.AppendUint64(head[:0], a.id)
	b = append(append(b, byte(len(a.kind))), a.kind...)
	return frame.Append(make([]byte, 0, frame.Header+a.size()), frameAnswer, b, a.body)
}

func parseResponse(payload []byte) (response, error) {
	if len(payload) < responseHeader || len(payload) < responseHeader+int(payload[8]) {
		return response{}, fmt.Errorf("%w: an answer of %d bytes", errFrame, len(payload))
	}
	end := responseHeader + int(payload[8])
	return response{
		id:   binary.BigEndian.Uint64(payload),
		kind: Kind(payload[responseHeader:end]),
		body: payload[end:],
	}, nil
}

// hello returns a caller's first frame: the protocol's version, the lane and the caller's id.
func hello(lane Lane, caller string) []byte {
	return frame.Append(nil, frameHello, []byte{protocol, byte(lane)}, []byte(caller))
}

func parseHello(payload []byte) (lane Lane, caller string, err error) {
	if len(payload) < 2 || payload[0] != protocol || len(payload) > 2+maxCaller {
		return 0, "", fmt.Errorf("%w: not a greeting of protocol %d", errFrame, protocol)
	}
	lane = Lane(payload[1])
	if _, known := lane.bounds(); !known {
		return 0, "", fmt.Errorf("%w: unknown lane %#x", errFrame, payload[1])
	}
	return lane, string(payload[2:]), nil
}
