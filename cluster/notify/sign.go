package notify

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// The headers of a delivery, as standard-webhooks names them.
const (
	headerID        = "webhook-id"
	headerTimestamp = "webhook-timestamp"
	headerSignature = "webhook-signature"
)

// sign puts the headers of a delivery on a request. Without a secret it is not signed.
func sign(h http.Header, secret, id string, at time.Time, body []byte) {
	stamp := strconv.FormatInt(at.Unix(), 10)
	h.Set(headerID, id)
	h.Set(headerTimestamp, stamp)
	if key := model.HookKey(secret); key != nil {
		h.Set(headerSignature, "v1,"+signature(key, id, stamp, body))
	}
}

// signature returns the HMAC-SHA256 of "id.timestamp.body" in base64.
func signature(key []byte, id, stamp string, body []byte) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + stamp + "."))
	mac.Write(body)
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
