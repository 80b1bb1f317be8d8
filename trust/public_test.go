package trust_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/trust"
)

// publicFiles writes a certificate for a name, signed by itself, and its key, and returns the certificate.
func publicFiles(t *testing.T, dir string, serial int64) (c *x509.Certificate, chain, key string) {
	t.Helper()
	private := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "berth.example.org"}, DNSNames: []string{"berth.example.org"},
		NotBefore: noon().Add(-time.Hour), NotAfter: noon().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der := must(x509.CreateCertificate(rand.Reader, template, template, private.Public(), private))
	chain, key = filepath.Join(dir, "chain.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{
		chain: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: must(x509.MarshalPKCS8PrivateKey(private))},
	} {
		var text bytes.Buffer
		if err := pem.Encode(&text, block); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		at := time.Unix(1_000_000+serial, 0) // file systems may have coarse times
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	return must(x509.ParseCertificate(der)), chain, key
}

// Browsers are shown the public certificate, and its successor once the files change; members and commands of the cluster
// still get that of the peer. Files that are broken for a moment change nothing.
func TestPublicCertificate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, chain, key := publicFiles(t, dir, 1)
	public, err := trust.OpenPublic(chain, key)
	if err != nil {
		t.Fatal(err)
	}
	a := authority(t, home)
	c := credentials(t, material(t, a, peer("p0")))
	c.Show(public)
	var failures []string
	public.OnFailure(func(err error) { failures = append(failures, err.Error()) })
	at := web(t, c, false)
	browser := func(trusted *x509.Certificate) error {
		pool := x509.NewCertPool()
		pool.AddCert(trusted)
		_, err := get(t, "https://"+at, &tls.Config{ServerName: "berth.example.org", RootCAs: pool, Time: noon})
		return err
	}
	if err := browser(first); err != nil {
		t.Errorf("a browser: %v", err)
	}
	if got, err := get(t, "https://"+at, trust.Visitor(trust.Known{Authorities: []*x509.Certificate{a.Certificate}}, noon, nil)); got != "secure" || err != nil {
		t.Errorf("a command of the cluster: %q, %v", got, err)
	}
	if got, err := get(t, "https://"+at, credentials(t, material(t, a, node("gpu1"))).Client()); got != "node gpu1" || err != nil {
		t.Errorf("an agent: %q, %v", got, err)
	}
	second, _, _ := publicFiles(t, dir, 2)
	if err := browser(second); err != nil {
		t.Errorf("after a renewal: %v", err)
	}
	if err := os.WriteFile(chain, []byte("half a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := browser(second); err != nil {
			t.Errorf("while the files are written: %v", err)
		}
	}
	if len(failures) != 1 || !strings.Contains(failures[0], chain) {
		t.Errorf("reported: %q", failures)
	}
	if _, err := trust.OpenPublic(chain, key); err == nil || !strings.Contains(err.Error(), chain) {
		t.Errorf("a file that is none: %v", err)
	}
}
