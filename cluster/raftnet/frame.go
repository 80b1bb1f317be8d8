package raftnet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"time"
)

// MaxFrame is the largest frame of a call, in bytes: four mebibytes. A body may be MaxBody.
const MaxFrame = 4 << 20

// MaxBody is the largest body of a call or of its answer, in bytes.
const MaxBody = MaxFrame - requestHeader

const (
	frameHeader    = 8  // length and CRC-32C of the payload
	requestHeader  = 13 // id, method, milliseconds left
	responseHeader = 10 // id, code
	firstRead      = 64 << 10
	maxName        = 256
	protocol       = 1
)

var (
	errFrame   = errors.New("malformed frame")
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

// request and response are the content of frames. Numbers are big-endian.
type callRequest struct {
	id     uint64
	method uint8
	budget time.Duration // what is left of the caller's time; counted in whole milliseconds on the wire
	body   []byte
}

type callResponse struct {
	id   uint64
	code Code // 0: done, and body is the answer; else body is the error's text
	body []byte
}

// seal writes length and checksum before a payload that was built behind space for them.
func seal(frame []byte) []byte {
	payload := frame[frameHeader:]
	binary.BigEndian.PutUint32(frame, uint32(len(payload))) // #nosec G115 -- at most MaxFrame, by MaxBody
	binary.BigEndian.PutUint32(frame[4:], crc32.Checksum(payload, castagnoli))
	return frame
}

// readFrame reads one payload. It trusts a length only as far as data follows it: a frame that claims
// megabytes and sends none costs a few kilobytes.
func readFrame(r io.Reader) ([]byte, error) {
	var header [frameHeader]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return nil, err
	}
	size, sum := binary.BigEndian.Uint32(header[:]), binary.BigEndian.Uint32(header[4:])
	if size > MaxFrame {
		return nil, fmt.Errorf("%w: %d bytes, more than %d", errFrame, size, MaxFrame)
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

func (q callRequest) frame() []byte {
	b := make([]byte, frameHeader, frameHeader+requestHeader+len(q.body))
	b = binary.BigEndian.AppendUint64(b, q.id)
	b = append(b, q.method)
	b = binary.BigEndian.AppendUint32(b, uint32(q.budget/time.Millisecond)) // #nosec G115 -- bounded by maxBudget
	return seal(append(b, q.body...))
}

func parseRequest(payload []byte) (callRequest, error) {
	if len(payload) < requestHeader {
		return callRequest{}, fmt.Errorf("%w: a call of %d bytes", errFrame, len(payload))
	}
	return callRequest{
		id:     binary.BigEndian.Uint64(payload),
		method: payload[8],
		budget: time.Duration(binary.BigEndian.Uint32(payload[9:])) * time.Millisecond,
		body:   payload[requestHeader:],
	}, nil
}

func (a callResponse) frame() []byte {
	b := make([]byte, frameHeader, frameHeader+responseHeader+len(a.body))
	b = binary.BigEndian.AppendUint64(b, a.id)
	b = binary.BigEndian.AppendUint16(b, uint16(a.code))
	return seal(append(b, a.body...))
}

func parseResponse(payload []byte) (callResponse, error) {
	if len(payload) < responseHeader {
		return callResponse{}, fmt.Errorf("%w: an answer of %d bytes", errFrame, len(payload))
	}
	return callResponse{
		id:   binary.BigEndian.Uint64(payload),
		code: Code(binary.BigEndian.Uint16(payload[8:])),
		body: payload[responseHeader:],
	}, nil
}

// hello returns a caller's first frame: the protocol's version and the caller's name.
func hello(name string) []byte {
	return seal(append(append(make([]byte, frameHeader), protocol), name...))
}

func parseHello(payload []byte) (name string, err error) {
	if len(payload) < 1 || payload[0] != protocol || len(payload) > 1+maxName {
		return "", fmt.Errorf("%w: not a greeting of protocol %d", errFrame, protocol)
	}
	return string(payload[1:]), nil
}
