package store

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"

	"github.com/containerd/containerd/v2/pkg/archive"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/sync/errgroup"
)

// parallel is how many layers are downloaded at once.
const parallel = 4

// unpacking is an image that is being unpacked into a folder.
type unpacking struct {
	source *source
	root   string // for the image's files
	blobs  string // for layers that have arrived
	meter  *meter
	room   func(need int64) error // makes room for bytes that are still to be written
	bytes  atomic.Int64           // of the files that were unpacked
}

// run downloads the layers, several at once, and applies them in order as they arrive.
func (u *unpacking) run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	ready := make([]chan struct{}, len(u.source.layers))
	for i := range ready {
		ready[i] = make(chan struct{})
	}
	var next atomic.Int64
	for range parallel {
		g.Go(func() error {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(ready) {
					return nil
				}
				if err := u.download(ctx, i); err != nil {
					return err
				}
				close(ready[i])
			}
		})
	}
	g.Go(func() error {
		left := u.source.size()
		for i := range ready {
			select {
			case <-ready[i]:
			case <-ctx.Done():
				return ctx.Err()
			}
			if err := u.room(left * unpackedSize); err != nil {
				return err
			}
			if err := u.apply(ctx, i); err != nil {
				return err
			}
			left -= u.source.layers[i].size
		}
		return nil
	})
	return g.Wait()
}

func (u *unpacking) blob(i int) string { return filepath.Join(u.blobs, strconv.Itoa(i)) }

// download brings a layer of a registry into a file. A layer that arrives damaged is asked for once more.
func (u *unpacking) download(ctx context.Context, i int) error {
	l := &u.source.layers[i]
	if !l.remote {
		return nil
	}
	return try(ctx, func() error {
		n, err := u.receive(ctx, l, u.blob(i))
		if err == nil {
			return nil
		}
		u.meter.add(-n, false)
		if n == l.size && judge(err).kind == Unreachable { // all has arrived, and the digest is another
			return failed(Damaged, remedyReach, "the layer %s arrived damaged: %s", l.digest, plain(err))
		}
		return err
	})
}

// receive writes a layer to a file, and returns how many bytes have arrived.
func (u *unpacking) receive(ctx context.Context, l *layer, path string) (n int64, err error) {
	from, err := l.open(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	to, err := os.Create(path) //nolint:gosec // in the folder of the pull
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	return io.CopyBuffer(onlyWriter{to}, &counted{r: from, meter: u.meter}, make([]byte, 1<<18))
}

// onlyWriter hides the methods of a file by which io.Copy would bypass its buffer.
type onlyWriter struct{ io.Writer }

// counted counts what is read.
type counted struct {
	r     io.Reader
	meter *meter
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.meter.add(int64(n), false)
	return n, err
}

// apply unpacks a layer over those below it.
func (u *unpacking) apply(ctx context.Context, i int) error {
	l := &u.source.layers[i]
	if !l.remote {
		from, err := l.open(ctx)
		if err != nil {
			return err
		}
		return errors.Join(u.extract(ctx, l, &counted{r: from, meter: u.meter}), from.Close())
	}
	f, err := os.Open(u.blob(i))
	if err != nil {
		return err
	}
	return errors.Join(u.extract(ctx, l, f), f.Close(), os.Remove(f.Name()))
}

// extract unpacks a layer, and then compares its checksum with that of the image's configuration. The stream is read
// to its very end: padding may follow the last file, and only the end shows that nothing was cut off.
func (u *unpacking) extract(ctx context.Context, l *layer, compressed io.Reader) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	from, to := io.Pipe()
	sum := sha256.New()
	ended := make(chan struct{})
	go func() { // decompresses while files are written
		defer close(ended)
		content, err := decompress(compressed)
		if err == nil {
			_, err = io.CopyBuffer(onlyWriter{io.MultiWriter(sum, to)}, onlyReader{content}, make([]byte, 1<<18))
			err = errors.Join(err, content.Close())
		}
		_ = to.CloseWithError(err)
	}()
	n, err := archive.Apply(ctx, u.root, bufio.NewReaderSize(from, 1<<18), archive.WithNoSameOwner(), archive.WithFilter(harmless))
	if err == nil {
		_, err = io.Copy(io.Discard, from)
	}
	_ = from.CloseWithError(errors.Join(err, io.ErrClosedPipe))
	<-ended
	u.bytes.Add(n)
	if err != nil {
		return layerFault(l, err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != l.diff.Hex {
		return failed(BadImage, "build the image again", "the checksum of the layer %s is sha256:%s and not %s, as the image's configuration has it", l.digest, got, l.diff)
	}
	return nil
}

// onlyReader hides a reader's method WriteTo, which would not use the buffer.
type onlyReader struct{ io.Reader }

// layerFault returns the error of a layer that cannot be unpacked. Its content is what the image says, so that another
// try would fail, too, unless this machine is the cause.
func layerFault(l *layer, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	f := judge(err)
	if f.kind == Full {
		return err
	}
	// A link to nothing and a file below a file are the layer's own.
	if own := isOne(err, syscall.ENOENT, syscall.ENOTDIR, syscall.EEXIST, syscall.EISDIR, syscall.ELOOP, syscall.ENAMETOOLONG,
		syscall.EINVAL); f.kind == Local && !own {
		return failed(Local, f.remedy, "the layer %s cannot be unpacked: %s", l.digest, f.reason)
	}
	return failed(BadImage, "build the image again", "the layer %s cannot be unpacked: %s", l.digest, plain(err))
}

// harmless changes an entry of a layer so that a user without any right can write it, and use and remove it later: no
// device, no setuid or setgid bit, no attribute beyond mode and time, no folder that its owner cannot write.
func harmless(h *tar.Header) (bool, error) {
	switch h.Typeflag {
	case tar.TypeBlock, tar.TypeChar:
		return false, nil
	case tar.TypeDir:
		h.Mode |= 0o700
	case tar.TypeReg, tar.TypeCont, tar.TypeGNUSparse: // all are read as whole files
		h.Typeflag = tar.TypeReg
		h.Mode |= 0o400
	case tar.TypeXGlobalHeader:
		return false, nil
	}
	h.Mode &= 0o1777
	h.PAXRecords = nil
	return true, nil
}

// decompress returns the content of a stream that is compressed by gzip or zstd, or not at all.
func decompress(r io.Reader) (io.ReadCloser, error) {
	b := bufio.NewReaderSize(r, 1<<18)
	head, err := b.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch {
	case isGzip(head):
		return gzip.NewReader(b)
	case isZstd(head):
		d, err := zstd.NewReader(b)
		if err != nil {
			return nil, err
		}
		return d.IOReadCloser(), nil
	case len(head) >= 3 && (bytes.Equal(head[:3], []byte("BZh")) || bytes.Equal(head[:3], []byte("\xfd7z"))):
		return nil, fmt.Errorf("it is compressed by bzip2 or xz, and images are compressed by gzip or zstd")
	}
	return io.NopCloser(b), nil
}

func isZstd(head []byte) bool { return bytes.Equal(head, []byte{0x28, 0xb5, 0x2f, 0xfd}) }

func isGzip(head []byte) bool { return len(head) >= 2 && head[0] == 0x1f && head[1] == 0x8b }
