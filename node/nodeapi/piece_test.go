package nodeapi

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// part is an answer with a part of a log.
type part struct {
	code         int
	body         string
	offset, size int64
	ended        bool
	next         int64
}

func getPart(t *testing.T, url string) part {
	t.Helper()
	code, body, header := request(t, url)
	number := func(name string) int64 {
		n, err := strconv.ParseInt(header.Get(name), 10, 64)
		if err != nil {
			return none
		}
		return n
	}
	return part{
		code, body, number(wire.HeaderLogOffset), number(wire.HeaderLogSize), header.Get(wire.HeaderLogEnded) == "true",
		number(wire.HeaderLogNext),
	}
}

// TestParts checks which bytes an answer has, and where they stand.
func TestParts(t *testing.T) {
	t.Parallel()
	s, url := serve(t)
	s.write(t, Stdout, "one\ntwo\n\nthree") // lines at 0, 4, 8 and 9, the end at 14
	for query, want := range map[string]part{
		"bytes=true":                    {200, "one\ntwo\n\nthree", 0, 14, false, none},
		"bytes=true&tail=1":             {200, "three", 9, 14, false, none},
		"bytes=true&tail=0":             {200, "", 14, 14, false, none},
		"offset=0":                      {200, "one\ntwo\n\nthree", 0, 14, false, none},
		"offset=5":                      {200, "wo\n\nthree", 5, 14, false, none},
		"offset=14":                     {200, "", 14, 14, false, none},
		"offset=99":                     {200, "", 99, 14, false, none},
		"offset=4&limit_bytes=3":        {200, "two", 4, 14, false, none},
		"limit_bytes=2":                 {200, "on", 0, 14, false, none},
		"before=14":                     {200, "one\ntwo\n\nthree", 0, 14, false, none},
		"before=99&limit_bytes=7":       {200, "\nthree", 8, 14, false, none},
		"before=14&limit_bytes=5":       {200, "three", 9, 14, false, none},
		"before=14&limit_bytes=3":       {200, "ree", 11, 14, false, none},
		"before=9&limit_bytes=6":        {200, "two\n\n", 4, 14, false, none},
		"before=9&limit_bytes=5":        {200, "two\n\n", 4, 14, false, none},
		"before=0":                      {200, "", 0, 14, false, none},
		"grep=o":                        {200, "0:one\n4:two\n", 0, 14, false, 14},
		"grep=THR&ignore_case=true":     {200, "9:three\n", 0, 14, false, 14},
		"grep=THR":                      {200, "", 0, 14, false, 14},
		"grep=o&offset=4":               {200, "4:two\n", 4, 14, false, 14},
		"grep=o&limit_bytes=1":          {200, "0:one\n", 0, 14, false, 4},
		"grep=o&limit_bytes=1&offset=4": {200, "4:two\n", 4, 14, false, 14},
	} {
		if got := getPart(t, url+PathLogs+"?job=7&attempt=1&"+query); got != want {
			t.Errorf("%s: %+v, want %+v", query, got, want)
		}
	}
	s.end()
	if got := getPart(t, url+PathLogs+"?job=7&attempt=1&offset=9&follow=true"); got.body != "three" || !got.ended {
		t.Errorf("the rest of one that has ended is %+v", got)
	}
	for _, query := range []string{
		"offset=-1", "offset=1&tail=2", "offset=1&before=2", "before=1&follow=true", "grep=a&follow=true", "grep=", "ignore_case=true", "limit_bytes=0",
		"limit_bytes=16777217", "bytes=perhaps", "offset=4611686018427387905", "grep=" + strings.Repeat("a", wire.MaxLogSearch+1), "grep=%ff",
	} {
		if got := getPart(t, url+PathLogs+"?job=7&attempt=1&"+query); got.code != http.StatusUnprocessableEntity {
			t.Errorf("%s: %+v", query, got)
		}
	}
}

// TestPartsWithAGap checks that answers end where bytes were not kept, and that the next one begins behind them.
func TestPartsWithAGap(t *testing.T) {
	t.Parallel()
	s, url := serve(t)
	const block = 1 << 16
	s.write(t, Stdout, strings.Repeat("a", block-1)+"\n"+strings.Repeat("b", block-1)+"\n"+strings.Repeat("c", block-1)+"\n")
	f, err := os.OpenFile(filepath.Join(s.dir, string(Stdout)), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, block, block); err != nil {
		t.Skip("needs a file system with holes: ", err)
	}
	s.end()
	base := url + PathLogs + "?job=7&attempt=1&"
	for query, want := range map[string][2]int64{ // where the answer begins, and its length
		"offset=0":                               {0, block},
		"offset=0&follow=true":                   {0, block},
		"bytes=true&tail=1":                      {2 * block, block},
		"offset=65536":                           {2 * block, block},
		"offset=65536&follow=true":               {2 * block, block},
		"offset=100000&limit_bytes=10":           {2 * block, 10},
		"before=196608&limit_bytes=150000":       {2 * block, block},
		"before=131072&limit_bytes=100":          {block - 100, 100},
		"before=131072&limit_bytes=70000":        {0, block},
		"before=65536&limit_bytes=70000":         {0, block},
		"grep=" + strings.Repeat("c", 100) + "&": {0, int64(len("131072:")) + maxShown + 1},
	} {
		if got := getPart(t, base+query); got.offset != want[0] || int64(len(got.body)) != want[1] {
			t.Errorf("%s: %d bytes from %d on, want %v", query, len(got.body), got.offset, want)
		}
	}
}

// TestFollowInBytes checks that a reader that goes on where the last connection ended gets each byte once, also if nothing was written yet.
func TestFollowInBytes(t *testing.T) {
	t.Parallel()
	s, url := serve(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	read := func(offset int64, least int) string {
		ctx, cut := context.WithCancel(ctx)
		defer cut()
		q, err := http.NewRequestWithContext(ctx, http.MethodGet, url+PathLogs+"?job=7&attempt=1&follow=true&offset="+strconv.FormatInt(offset, 10), nil)
		if err != nil {
			t.Error(err)
			return ""
		}
		answer, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Error(err)
			return ""
		}
		defer func() { _ = answer.Body.Close() }()
		data := make([]byte, least)
		n, err := io.ReadFull(answer.Body, data)
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Error(err)
		}
		return string(data[:n])
	}
	first := make(chan string, 1)
	go func() { first <- read(0, 3) }()
	s.write(t, Stdout, "one\ntwo\n")
	if got := <-first; got != "one" {
		t.Errorf("the first connection got %q", got)
	}
	second := make(chan string, 1)
	go func() { second <- read(3, 100) }()
	s.write(t, Stdout, "three\n")
	s.end()
	if got := <-second; got != "\ntwo\nthree\n" {
		t.Errorf("the second connection got %q", got)
	}
}
