package trust_test

import (
	"crypto"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/trust"
)

func full(t *testing.T) *trust.Material {
	t.Helper()
	a := authority(t, home)
	m := material(t, a, peer("p1"))
	m.Generation = 3
	return m
}

func TestFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "trust")
	if _, err := trust.Load(dir); !errors.Is(err, trust.ErrEmpty) {
		t.Fatalf("a folder that is not there: %v", err)
	}
	m := full(t)
	if err := trust.Save(dir, m); err != nil {
		t.Fatal(err)
	}
	got, err := trust.Load(dir)
	if err != nil || !got.Certificate.Equal(m.Certificate) || got.Generation != 3 || len(got.Authorities) != 1 || len(got.Keys) != 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	if _, err := got.Issuer(); err == nil {
		t.Error("a machine without the key of the authority issues certificates")
	}
	if err := trust.SaveGeneration(dir, 5); err != nil {
		t.Fatal(err)
	}
	if got, err = trust.Load(dir); err != nil || got.Generation != 5 {
		t.Errorf("%+v, %v", got, err)
	}
	for _, e := range must(os.ReadDir(dir)) {
		if info := must(e.Info()); info.Mode().Perm() != 0o600 {
			t.Errorf("%s has the mode %v", e.Name(), info.Mode())
		}
	}
}

func TestTheAuthoritysKeyIsKept(t *testing.T) {
	t.Parallel()
	key := must(trust.NewKey())
	a := must(trust.NewAuthority(home, noon()))
	m := material(t, a, peer("p1"))
	dir := t.TempDir()
	m.Keys = []crypto.Signer{a.Key()}
	if err := trust.Save(dir, m); err != nil {
		t.Fatal(err)
	}
	got := must(trust.Load(dir))
	issuer, err := got.Issuer()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := issuer.Issue(trust.Terms{Identity: node("gpu1"), Key: key.Public(), Now: noon()}); err != nil {
		t.Error(err)
	}
	m.Keys = []crypto.Signer{key}
	if err := trust.Save(dir, m); err != nil {
		t.Fatal(err)
	}
	if _, err := trust.Load(dir); err == nil || !strings.Contains(err.Error(), "authority.key") {
		t.Errorf("a foreign key: %v", err)
	}
}

// Whatever is wrong with a file, its path and a remedy are named.
func TestDamagedFolders(t *testing.T) {
	t.Parallel()
	other := full(t)
	for name, v := range map[string]struct {
		file string
		do   func(path string) error
		says string
	}{
		"no authorities":      {"authorities.pem", os.Remove, "issue the certificate of this machine again"},
		"empty authorities":   {"authorities.pem", func(p string) error { return os.WriteFile(p, nil, 0o600) }, "is damaged"},
		"text":                {"authorities.pem", func(p string) error { return os.WriteFile(p, []byte("hello\n"), 0o600) }, "not PEM"},
		"identity cut off":    {"identity.pem", func(p string) error { return os.Truncate(p, 200) }, "is damaged"},
		"identity empty":      {"identity.pem", func(p string) error { return os.Truncate(p, 0) }, "is damaged"},
		"open to others":      {"identity.pem", func(p string) error { return os.Chmod(p, 0o644) }, "chmod 600"},
		"a folder":            {"identity.pem", func(p string) error { return errors.Join(os.Remove(p), os.Mkdir(p, 0o700)) }, "regular file"},
		"generation":          {"generation", func(p string) error { return os.WriteFile(p, []byte("x"), 0o600) }, "one number"},
		"an authority's file": {"identity.pem", func(p string) error { return os.WriteFile(p, trust.EncodeCertificates(other.Certificate), 0o600) }, "is damaged"},
	} {
		dir := t.TempDir()
		if err := trust.Save(dir, full(t)); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, v.file)
		if err := v.do(path); err != nil {
			t.Fatal(err)
		}
		if _, err := trust.Load(dir); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), v.says) ||
			errors.Is(err, trust.ErrEmpty) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCertificatesAsText(t *testing.T) {
	t.Parallel()
	a, b := authority(t, home), authority(t, home)
	list, err := trust.DecodeCertificates(trust.EncodeCertificates(a.Certificate, b.Certificate), 2)
	if err != nil || len(list) != 2 || !list[1].Equal(b.Certificate) {
		t.Errorf("%v, %v", list, err)
	}
	if _, err := trust.DecodeCertificates(trust.EncodeCertificates(a.Certificate, b.Certificate), 1); err == nil {
		t.Error("two in place of one")
	}
	if _, err := trust.DecodeCertificates(nil, 1); err == nil {
		t.Error("none in place of one")
	}
}
