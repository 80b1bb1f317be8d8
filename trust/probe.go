package trust

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// proofSize is the length of a proof, in hexadecimal digits.
const proofSize = 32

// answerLimit bounds one answer to a probe.
const answerLimit = 5 * time.Second

// NewProof draws what a machine that joins answers at its address.
func NewProof() string {
	var b [proofSize / 2]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// Answer answers probes at a listener until that is closed.
func Answer(l net.Listener, proof string) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		_ = conn.SetDeadline(time.Now().Add(answerLimit))
		_, _ = io.WriteString(conn, proof) // a probe that is not answered fails at the other side
		_ = conn.Close()
	}
}

// Probe connects to an address "host:port" and returns an error unless the machine that has drawn the proof answers
// there.
func Probe(ctx context.Context, address, proof string) (err error) {
	if len(proof) != proofSize {
		return fmt.Errorf("the proof has %d digits in place of %d", len(proof), proofSize)
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if end, bound := ctx.Deadline(); bound {
		if err := conn.SetDeadline(end); err != nil {
			return err
		}
	}
	var got [proofSize]byte
	if _, err := io.ReadFull(conn, got[:]); err != nil || subtle.ConstantTimeCompare(got[:], []byte(proof)) != 1 {
		return errors.New("another program or machine answers there")
	}
	return nil
}
