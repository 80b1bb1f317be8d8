package main

import (
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/cmd/internal/config"
)

func written(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// With callers asked the API may listen anywhere; without, on loopback only.
func TestWhereTheAPIListens(t *testing.T) {
	base := map[string]string{"data-dir": "d", "id": "p1"}
	for _, v := range []struct {
		http, advertise string
		auth            bool
		good            bool
	}{
		{"127.0.0.1:10000", "", false, true},
		{"0.0.0.0:10000", "", false, false},
		{"0.0.0.0:10000", "", true, false}, // agents would be told that address
		{"0.0.0.0:10000", "10.0.0.1:10000", true, true},
		{"[::]:10000", "p1.example.org:10000", true, true},
		{"nowhere", "", true, false},
	} {
		flags := maps.Clone(base)
		flags["http"], flags["auth"] = v.http, strconv.FormatBool(v.auth)
		if v.advertise != "" {
			flags["advertise-http"] = v.advertise
		}
		if _, err := resolve(loaded(t, flags)); (err == nil) != v.good {
			t.Errorf("%+v: %v", v, err)
		}
	}
	// The state may say that callers are asked, whatever this peer is told.
	base["http"], base["rate-limit"] = "127.0.0.1:10000", "7"
	if o, err := resolve(loaded(t, base)); err != nil || o.api.terms.Rate != 7 || o.api.asks {
		t.Errorf("%+v, %v", o.api, err)
	}
	base["auth-keys"] = "keys.yaml"
	if _, err := resolve(loaded(t, base)); err == nil {
		t.Error("keys are accepted without authentication")
	}
}

// Settings of an identity provider that contradict each other are refused.
func TestSettingsOfTheProvider(t *testing.T) {
	t.Parallel()
	secret := written(t, "secret\n")
	if err := os.Chmod(secret, 0o644); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"oidc: {issuer: 'http://login.example.org', client_id: a, groups: {ml: user}}": "must begin with https://",
		"oidc: {issuer: 'https://login.example.org', groups: {ml: user}}":              "oidc.client_id",
		"oidc: {issuer: 'https://login.example.org', client_id: a}":                    "oidc.groups is missing",
		"oidc: {client_id: a}": "needs oidc.issuer",
		"oidc: {issuer: 'https://login.example.org', client_id: a, scopes: [profile], groups: {ml: user}}":                  "the scope openid is missing",
		"oidc: {issuer: 'https://login.example.org', client_id: a, client_secret_file: " + secret + ", groups: {ml: user}}": "chmod 600",
		"oidc: {issuer: 'https://login.example.org', client_id: a, ca: " + secret + ", groups: {ml: user}}":                 "holds no certificate",
		"oidc: {issuer: 'https://login.example.org', client_id: a, groups: {ml: god}}":                                      "its role is unknown",
	} {
		full := "auth: {enabled: true}\nserver: {id: p1, data_dir: d, bootstrap: [p1=127.0.0.1:7000]}\n" + text + "\n"
		c, err := config.Load(config.Source{Program: config.OfServer, File: written(t, full)})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if _, err := resolve(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
