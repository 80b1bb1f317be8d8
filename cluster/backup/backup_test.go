package backup

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/trust"
)

// archived is an archive of one text.
type archived string

func (a archived) Copy(write func(int64, io.Reader) error) error {
	return write(int64(len(a)), strings.NewReader(string(a)))
}

// sourceOf returns a cluster with jobs, one of which runs.
func sourceOf(t *testing.T) *Source {
	t.Helper()
	c := statetest.New(t)
	c.Node("n1", 4).Register()
	c.Do(&command.SetPeer{Peer: peerOf("p1")})
	running := c.Submit(2)
	c.Place(running)
	c.Submit(1)
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	own, err := trust.Found(trust.Member{Name: "p1"}, now)
	if err != nil {
		t.Fatal(err)
	}
	i, err := own.Identity()
	if err != nil {
		t.Fatal(err)
	}
	return &Source{
		State: &c.State, Archive: archived("the archive"), ArchivedTo: c.State.Index, Peer: "p1", Version: "v1.2.3", Now: now,
		Cluster: i.Cluster, Trust: own, Secrets: own.Secrets(),
	}
}

// written returns the bytes of a backup.
func written(t *testing.T, s *Source, to *Seal) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := Write(&out, s, to); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// sealFor returns the seal of a new private key.
func sealFor(t *testing.T) (Opener, Seal) {
	t.Helper()
	opener, recipient, err := NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	seal, err := ForRecipients(recipient)
	if err != nil {
		t.Fatal(err)
	}
	return opener, seal
}

// A backup gives back the state, the archive and, for the right private key, the keys of the cluster.
func TestABackupIsReadBack(t *testing.T) {
	t.Parallel()
	s := sourceOf(t)
	opener, seal := sealFor(t)
	dir := t.TempDir()
	b, err := Read(bytes.NewReader(written(t, s, &seal)), dir)
	if err != nil {
		t.Fatal(err)
	}
	if b.State.Digest() != s.State.Digest() || b.Description.Jobs != 2 || b.Description.GPUs != 4 || b.Description.Index != s.State.Index ||
		b.Description.Generation != 1 {
		t.Errorf("the backup holds %+v", b.Description)
	}
	if text, err := os.ReadFile(b.Archive); err != nil || string(text) != "the archive" {
		t.Errorf("the archive is %q, %v", text, err)
	}
	secrets, err := b.Open(opener)
	if err != nil {
		t.Fatal(err)
	}
	if rest := secrets.Except(s.Secrets); len(secrets.Authorities) != 1 || len(rest.Authorities) > 0 {
		t.Errorf("the keys differ: %d, %d others", len(secrets.Authorities), len(rest.Authorities))
	}
	other, _ := sealFor(t)
	if _, err := b.Open(other); !errors.Is(err, ErrSealed) {
		t.Errorf("another private key gave %v", err)
	}
}

// The keys are nowhere in the file but under the seal.
func TestKeysAreSealed(t *testing.T) {
	t.Parallel()
	s := sourceOf(t)
	_, seal := sealFor(t)
	keys, err := trust.MarshalKeys(s.Secrets.Authorities)
	if err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]*Seal{"sealed": &seal, "left out": {}} {
		parts := unpacked(t, written(t, s, to))
		for _, secret := range keys {
			if bytes.Contains(parts, secret) {
				t.Errorf("%s: a secret is in the file in clear", name)
			}
		}
	}
	b, err := Read(bytes.NewReader(written(t, s, &Seal{})), "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Open(); err == nil || len(b.Description.Keys) > 0 {
		t.Errorf("a backup without keys: %v, %v", b.Description.Keys, err)
	}
}

// unpacked returns the content of all parts.
func unpacked(t *testing.T, file []byte) []byte {
	t.Helper()
	in, err := newReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	defer in.zip.Close()
	text, err := io.ReadAll(in.zip)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A file that ends early, or of which one bit differs, is refused wherever that is.
func TestADamagedBackupIsRefused(t *testing.T) {
	t.Parallel()
	_, seal := sealFor(t)
	file := written(t, sourceOf(t), &seal)
	refused := func(what string, at int, file []byte) {
		newer := (*NewerError)(nil)
		if b, err := Read(bytes.NewReader(file), ""); err == nil || !errors.Is(err, ErrDamaged) && !errors.As(err, &newer) {
			t.Fatalf("%s at %d of %d: %v, %v", what, at, len(file), b, err)
		}
	}
	for n := range file {
		if n%5 == 0 || n > len(file)-40 {
			refused("cut off", n, file[:n])
		}
	}
	for n := range file {
		changed := bytes.Clone(file)
		changed[n] ^= 1 << (n % 8)
		if n%5 == 0 && !harmless(file, changed) {
			refused("a bit flipped", n, changed)
		}
	}
	refused("something behind", len(file), append(bytes.Clone(file), "more"...))
}

// harmless reports whether a changed file decompresses to the same bytes: some bits of zstd's headers say nothing.
func harmless(file, changed []byte) bool {
	text := func(b []byte) []byte {
		in, err := newReader(bytes.NewReader(b))
		if err != nil {
			return nil
		}
		defer in.zip.Close()
		all, err := io.ReadAll(in.zip)
		if err != nil {
			return nil
		}
		return all
	}
	return bytes.Equal(text(file), text(changed))
}

// retold returns a backup whose description is changed, with hashes that fit.
func retold(t *testing.T, s *Source, change func(*Description)) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := newWriter(&out, s.Now)
	if err != nil {
		t.Fatal(err)
	}
	d := s.Describe(&Seal{})
	change(d)
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	in, err := newReader(bytes.NewReader(written(t, s, &Seal{})))
	if err != nil {
		t.Fatal(err)
	}
	defer in.zip.Close()
	if _, err := in.description(); err != nil {
		t.Fatal(err)
	}
	if err := w.bytes(partDescription, text); err != nil {
		t.Fatal(err)
	}
	for {
		h, err := in.header()
		if err != nil {
			t.Fatal(err)
		}
		if h.Name == partSums {
			if err := w.end(func(sums []byte) ([]byte, error) { return d.sign(s.Trust, sums) }); err != nil {
				t.Fatal(err)
			}
			return out.Bytes()
		}
		content, err := in.all(1 << 20)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.bytes(h.Name, content); err != nil {
			t.Fatal(err)
		}
	}
}

// A backup of a newer program is refused by what is newer, and one whose description is not that of its state by that.
func TestADescriptionMustFit(t *testing.T) {
	t.Parallel()
	s, other := sourceOf(t), sourceOf(t)
	for name, c := range map[string]struct {
		change func(*Description)
		want   string
		newer  bool
	}{
		"format":    {func(d *Description) { d.Format = Format + 1 }, "has format 2, written by version", true},
		"level":     {func(d *Description) { d.Level = command.Level + 1 }, "feature level", true},
		"index":     {func(d *Description) { d.Index++ }, "describes another state", false},
		"digest":    {func(d *Description) { d.Digest = strings.Repeat("00", 32) }, "describes another state", false},
		"cluster":   {func(d *Description) { d.Cluster = other.Cluster }, "its authority of cluster", false},
		"authority": {func(d *Description) { d.Authorities = "none" }, "certificates of authorities", false},
		"keys":      {func(d *Description) { d.Keys = []string{Passphrase} }, "whether there are keys", false},
	} {
		newer := (*NewerError)(nil)
		_, err := Read(bytes.NewReader(retold(t, s, c.change)), "")
		if err == nil || !strings.Contains(err.Error(), c.want) || errors.As(err, &newer) != c.newer {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Read(bytes.NewReader(retold(t, s, func(*Description) {})), ""); err != nil {
		t.Errorf("unchanged: %v", err)
	}
}

// A copy under another seal is opened by that seal only, and an incomplete source gives no copy.
func TestRelay(t *testing.T) {
	t.Parallel()
	s := sourceOf(t)
	opener, seal := sealFor(t)
	file := written(t, s, &seal)
	to, err := ForPassphrase("correct horse battery")
	if err != nil {
		t.Fatal(err)
	}
	if r, is := to.to[0].(*age.ScryptRecipient); is {
		r.SetWorkFactor(10) // the usual one costs seconds under the race detector
	}
	var out bytes.Buffer
	if d, err := Relay(&out, bytes.NewReader(file), opener, &to); err != nil || d.Keys[0] != Passphrase {
		t.Fatalf("%+v, %v", d, err)
	}
	b, err := Read(&out, "")
	if err != nil {
		t.Fatal(err)
	}
	by, err := ByPassphrase("correct horse battery")
	if err != nil {
		t.Fatal(err)
	}
	wrong, err := ByPassphrase("correct horse batterz")
	if err != nil {
		t.Fatal(err)
	}
	if secrets, err := b.Open(by); err != nil || len(secrets.Authorities) != 1 {
		t.Errorf("the passphrase gave %v", err)
	}
	if _, err := b.Open(wrong); !errors.Is(err, ErrSealed) {
		t.Errorf("a wrong passphrase gave %v", err)
	}
	if _, err := b.Open(opener); !errors.Is(err, ErrSealed) {
		t.Errorf("the private key of the source gave %v", err)
	}
	for _, n := range []int{len(file) / 2, len(file) - 1} {
		if _, err := Relay(io.Discard, bytes.NewReader(file[:n]), opener, &seal); !errors.Is(err, ErrDamaged) {
			t.Errorf("a source cut off at %d gave %v", n, err)
		}
	}
}

// What cannot be a seal is refused with the reason.
func TestSealsAreChecked(t *testing.T) {
	t.Parallel()
	if _, err := ForRecipients("ssh-ed25519 AAAA"); err == nil || !strings.Contains(err.Error(), "age-keygen") {
		t.Errorf("a recipient: %v", err)
	}
	if _, err := ForPassphrase("short"); err == nil || !strings.Contains(err.Error(), "at least 12") {
		t.Errorf("a passphrase: %v", err)
	}
	if _, err := ByIdentities(strings.NewReader("age1abc")); err == nil {
		t.Error("a recipient passed as private key")
	}
}

// A file is there as a whole or not at all, and replaces no other.
func TestCreateIsAllOrNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "b"+Suffix)
	broken := errors.New("broken off")
	if err := Create(path, func(w io.Writer) error {
		_, _ = w.Write([]byte("half"))
		return broken
	}); !errors.Is(err, broken) {
		t.Errorf("a broken content gave %v", err)
	}
	if left, err := filepath.Glob(path + "*"); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
	whole := func(w io.Writer) error {
		_, err := w.Write([]byte("whole"))
		return err
	}
	if err := Create(path, whole); err != nil {
		t.Fatal(err)
	}
	if err := Create(path, whole); err == nil || !strings.Contains(err.Error(), "exists already") {
		t.Errorf("a second one gave %v", err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}
