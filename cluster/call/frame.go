package call

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"time"
)

const (
	frameHeader    = 8  // length and CRC-32C of the payload
	requestHeader  = 13 // id, milliseconds left, length of the name
	responseHeader = 9  // id, length of the kind
	firstRead      = 64 << 10
	helloFrame     = 1 << 10 // most bytes of a caller's first frame
	maxCaller      = 256     // bytes of a caller's id
	maxCallName    = 64      // bytes of the name of a call, or of a kind
	protocol       = 2
)

var (
	errFrame   = errors.New("malformed frame")
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

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

// seal writes length and checksum before a payload that was built behind space for them.
func seal(frame []byte) []byte {
	payload := frame[frameHeader:]
	binary.BigEndian.PutUint32(frame, uint32(len(payload)))
	binary.BigEndian.PutUint32(frame[4:], crc32.Checksum(payload, castagnoli))
	return frame
}

// readFrame reads one payload of at most so many bytes. It trusts a length only as far as data follows it: a
// frame that claims megabytes and sends none costs a few kilobytes.
func readFrame(r io.Reader, most int) ([]byte, error) {
	var header [frameHeader]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return nil, err
	}
	size, sum := binary.BigEndian.Uint32(header[:]), binary.BigEndian.Uint32(header[4:])
	if int64(size) > int64(most) {
		return nil, fmt.Errorf("%w: %d bytes, more than %d", errFrame, size, most)
	}
	var payload bytes.Buffer
	payload.Grow(min(int(size), firstRead))
	if _, err := io.CopyN(&payload, r, int64(size)); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	if got := crc32.Checksum(payload.Bytes(), castagnoli); got != sum {
		return nil, fmt.Errorf("%w: checksum %08x, want %08x", errFrame, got, sum)
	}
	return payload.Bytes(), nil
}

// size returns the bytes of the payload.
func (q request) size() int { return requestHeader + len(q.name) + len(q.body) }

func (q request) frame() []byte {
	b := make([]byte, frameHeader, frameHeader+q.size())
	b = binary.BigEndian.AppendUint64(b, q.id)
	b = binary.BigEndian.AppendUint32(b, uint32(q.budget/time.Millisecond))
	b = append(b, byte(len(q.name)))
	b = append(b, q.name...)
	return seal(append(b, q.body...))
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
	b := make([]byte, frameHeader, frameHeader+a.size())
	b = binary.BigEndian.AppendUint64(b, a.id)
	b = append(b, byte(len(a.kind)))
	b = append(b, a.kind...)
	return seal(append(b, a.body...))
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
	return seal(append(append(make([]byte, frameHeader), protocol, byte(lane)), caller...))
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
