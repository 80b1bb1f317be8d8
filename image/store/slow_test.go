package store

//berth:bubble

import (
	"net/http"
	"time"
)

// slow sends a piece shortly before the patience with the registry ends, ten times.
func slow(w http.ResponseWriter, r *http.Request) {
	blob := blobOf(r)
	for range 9 {
		time.Sleep(patience - time.Second)
		_, _ = w.Write(blob[:1])
		blob = blob[1:]
	}
	time.Sleep(patience - time.Second)
	_, _ = w.Write(blob)
}
