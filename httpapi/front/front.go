// Package front is what all answers of a peer have alike, whatever the path: the time and the version of the peer, entity tags,
// compression, and HEAD.
package front

import (
	"net/http"
	"strconv"
	"time"

	"github.com/klauspost/compress/gzhttp"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// least is the size from which answers are compressed, in bytes: below it, compression saves no packet.
const least = 1 << 10

// compressed are the types of answers that are compressed. Streams of events and output are not: each piece is sent at once.
var compressed = []string{"application/json", "application/openapi+json", wire.ProblemType, "application/yaml"}

// Wrap returns a handler whose answers have the time and the version of this peer, are kept by no cache unless they say so, and are
// compressed by gzip (RFC 9110, section 8.4.1.3) for clients that accept that.
func Wrap(next http.Handler, version string, now func() time.Time) http.Handler {
	// It fails only for sizes and levels that do not exist.
	wrap, _ := gzhttp.NewWrapper(gzhttp.MinSize(least), gzhttp.ContentTypes(compressed), gzhttp.EnableZstd(false),
		gzhttp.SetContentType(false))
	zipped := wrap(tags(next))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "private, no-store") // what may be kept says so; a session's cookie keeps no cache from sharing an answer
		h.Set(wire.HeaderTime, strconv.FormatInt(now().UnixMilli(), 10))
		if version != "" {
			h.Set(wire.HeaderVersion, version)
		}
		head(zipped).ServeHTTP(w, r)
	})
}
