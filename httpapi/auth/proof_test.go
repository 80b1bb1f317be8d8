package auth

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// between are two peers of one cluster at one time.
func between(now time.Time) *Prover {
	return &Prover{
		Self: "p1", Secret: func() model.Secret { return model.Secret{7} }, Now: func() time.Time { return now },
	}
}

// passedOn is a request of a caller that a peer passes on, as it arrives.
func passedOn(p *Prover, body []byte) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/queue/submit?dry_run=true", bytes.NewReader(body))
	r = r.WithContext(With(r.Context(), &Caller{Credential: model.Hash{9}}))
	r.Header.Set(wire.HeaderClient, "10.0.0.7")
	r.Header.Set(wire.HeaderRequestID, "0190-1")
	p.Sign(r, body)
	return r
}

// FuzzProof: nothing but what was signed is a proof, and what was signed holds for this
// request, this body and this minute only.
func FuzzProof(f *testing.F) {
	now := time.UnixMilli(1_800_000_000_000)
	p := between(now)
	body := []byte(`{"command":"true"}`)
	good := passedOn(p, body).Header.Get(HeaderProof)
	said := good[:strings.LastIndexByte(good, ' ')]
	f.Add(good, body)
	f.Add(said, body)
	f.Add(strings.Replace(said, "v1 18", "v1 19", 1), []byte("{}"))
	f.Add(strings.ToUpper(said), []byte(nil))
	f.Add("v1 -9223372036854775808 "+strings.Repeat("0", 64)+" "+strings.Repeat("0", 63), []byte(nil))
	f.Add("v1  "+strings.Repeat("zz", 40)+" ", []byte(nil))
	f.Fuzz(func(t *testing.T, text string, sent []byte) {
		raw := passedOn(p, body)
		raw.Header.Set(HeaderProof, text)
		if _, err := p.Check(raw); (err == nil) != (strings.HasPrefix(text, said+" ") && strings.EqualFold(text, good)) {
			t.Fatalf("%q is taken for a proof, or is none: %v", text, err)
		}
		// The same claims under a MAC of their own, which needs the secret.
		r := passedOn(p, body)
		r.Body = io.NopCloser(bytes.NewReader(sent))
		r.ContentLength = int64(len(sent))
		r.Header.Set(HeaderProof, text+" "+hex.EncodeToString(p.mac(p.Secret(), r, text)))
		credential, err := p.Check(r)
		if err != nil {
			if !errors.Is(err, ErrProof) {
				t.Fatal(err)
			}
			return
		}
		read, err := io.ReadAll(r.Body)
		meant := strings.EqualFold(strings.Split(text, " ")[2], fmt.Sprintf("%x", sha256.Sum256(sent)))
		if (err == nil) != meant || !bytes.Equal(read, sent) {
			t.Fatalf("under %q the body %q is read: %v", text, sent, err)
		}
		if !strings.HasPrefix(text, "v1 ") || !strings.HasSuffix(strings.ToLower(text), " "+hex.EncodeToString(credential[:])) {
			t.Fatalf("%q is of %x", text, credential)
		}
		late := between(now.Add(2*proofWindow + time.Millisecond))
		if _, err := late.Check(r); err == nil {
			t.Fatal("a proof holds for longer than its time")
		}
	})
}

// A proof is of one request: whatever of it is another makes it none.
func TestAProofIsOfOneRequest(t *testing.T) {
	now := time.UnixMilli(1_800_000_000_000)
	p := between(now)
	body := []byte(`{"command":"true"}`)
	for name, change := range map[string]func(*http.Request){
		"another method":      func(r *http.Request) { r.Method = http.MethodDelete },
		"another path":        func(r *http.Request) { r.URL.Path = "/queue/1" },
		"another query":       func(r *http.Request) { r.URL.RawQuery = "" },
		"another peer":        func(r *http.Request) { r.Header.Set(wire.HeaderForwarded, "p2") },
		"another address":     func(r *http.Request) { r.Header.Set(wire.HeaderClient, "10.0.0.8") },
		"another request id":  func(r *http.Request) { r.Header.Del(wire.HeaderRequestID) },
		"no proof":            func(r *http.Request) { r.Header.Del(HeaderProof) },
		"half a proof":        func(r *http.Request) { r.Header.Set(HeaderProof, r.Header.Get(HeaderProof)[:90]) },
		"no body":             func(r *http.Request) { r.ContentLength = 0 },
		"nothing but a space": func(r *http.Request) { r.Header.Set(HeaderProof, " ") },
	} {
		r := passedOn(p, body)
		change(r)
		if _, err := p.Check(r); !errors.Is(err, ErrProof) {
			t.Errorf("%s: %v", name, err)
		}
	}
	r := passedOn(p, body)
	if credential, err := p.Check(r); err != nil || credential != (model.Hash{9}) {
		t.Errorf("what was signed is of %x, %v", credential, err)
	}
	if read, err := io.ReadAll(r.Body); err != nil || !bytes.Equal(read, body) {
		t.Errorf("the body is %q, %v", read, err)
	}
	r = passedOn(p, body)
	r.Body = io.NopCloser(strings.NewReader(`{"command":"rm"}`))
	if _, err := p.Check(r); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(r.Body); !errors.Is(err, ErrProof) {
		t.Errorf("another body: %v", err)
	}
	other := between(now)
	other.Secret = func() model.Secret { return model.Secret{8} }
	if _, err := other.Check(passedOn(p, body)); !errors.Is(err, ErrProof) {
		t.Errorf("under another secret: %v", err)
	}
	other.Secret = func() model.Secret { return model.Secret{} }
	if _, err := other.Check(passedOn(p, body)); !errors.Is(err, ErrProof) {
		t.Errorf("without a secret: %v", err)
	}
}
