// Package frame divides a stream of bytes into messages: one byte for the kind of a message, four for the length of its body (big-endian),
// and the body. Calls between peers, tunnels through HTTP, and the links of Slurm steps are made of such frames. What a kind means, and how
// large its body may be, is theirs to say. There is no checksum: the streams are TLS, or do not leave the machine.
package frame

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Header is the length of what is before a body, in bytes.
const Header = 5

// firstRead is for how many bytes memory is taken before any of a body has come.
const firstRead = 64 << 10

// ErrMalformed is the error of bytes that no sound program sends.
var ErrMalformed = errors.New("malformed frame")

// Append appends a frame, whose body may come in parts. The body is shorter than 4 GiB.
func Append(to []byte, kind byte, parts ...[]byte) []byte {
	size := 0
	for _, p := range parts {
		size += len(p)
	}
	to = append(to, kind)
	to = binary.BigEndian.AppendUint32(to, uint32(size))
	for _, p := range parts {
		to = append(to, p...)
	}
	return to
}

// Read reads a frame. limit returns how many bytes the body of a kind may have, or a negative number if there is no such kind.
// A length is believed only as far as data follows: a frame that claims megabytes and sends none costs some kilobytes.
func Read(from io.Reader, limit func(kind byte) int) (kind byte, body []byte, err error) {
	var head [Header]byte
	if _, err := io.ReadFull(from, head[:]); err != nil {
		return 0, nil, err
	}
	kind, size := head[0], int64(binary.BigEndian.Uint32(head[1:]))
	switch most := limit(kind); {
	case most < 0:
		return 0, nil, fmt.Errorf("%w: the kind %#x is unknown", ErrMalformed, kind)
	case size > int64(most):
		return 0, nil, fmt.Errorf("%w: %d bytes of kind %#x, more than %d", ErrMalformed, size, kind, most)
	case size <= firstRead:
		body = make([]byte, size)
		_, err = io.ReadFull(from, body)
	default:
		var grown bytes.Buffer
		grown.Grow(firstRead)
		_, err = io.CopyN(&grown, from, size)
		body = grown.Bytes()
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return 0, nil, err
	}
	return kind, body, nil
}
