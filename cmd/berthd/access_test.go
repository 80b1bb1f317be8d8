package main

import (
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cmd/internal/config"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
)

func written(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// The owner's published example is read as it is, and keys may say more.
func TestReadKeys(t *testing.T) {
	published := "auth:\n  enabled: true\n  header_name: \"X-API-Key\"\n  api_keys:\n    \"your-secret-key-1\": \"training-service\"\n" +
		"    \"your-secret-key-2\": \"inference-service\"\n"
	keys, err := (&holding{}).readKeys(written(t, published))
	if err != nil || keys.Len() != 2 || keys.Header != "X-Api-Key" {
		t.Fatalf("%d keys, %v", keys.Len(), err)
	}
	if k, _ := keys.Find(auth.HashOf("your-secret-key-2")); k.Name != "inference-service" || k.Human || k.Role != model.RoleUser {
		t.Errorf("the second is %+v", k)
	}
	fuller := "header_name: x-mine\napi_keys:\n  sixteen-bytes-of: {user: root, role: admin, projects: [vision]}\n"
	keys, err = (&holding{}).readKeys(written(t, fuller))
	if k, _ := keys.Find(auth.HashOf("sixteen-bytes-of")); err != nil || k.Name != "root" || !k.Human || k.Role != model.RoleAdmin || len(k.Projects) != 1 {
		t.Errorf("it is %+v, %v", k, err)
	}
	if keys, err = (&holding{}).readKeys(written(t, "")); err != nil || keys.Len() != 0 {
		t.Errorf("an empty file: %v", err)
	}
}

// What cannot be read is refused with its place, and no key is told.
func TestKeysThatAreNone(t *testing.T) {
	for text, says := range map[string]string{
		"api_keys: {SECRET: x}": "bytes",
		"api_keys:\n  SECRET-SECRET-SECRET: a\n  SECRET-SECRET-SECRET: b\n":   "line 3",
		"api_keys:\n  SECRET-SECRET-SECRET: [a]\n":                            "line 2",
		"api_keys:\n  SECRET-SECRET-SECRET: {servise: a}\n":                   "line 2",
		"api_keys:\n  SECRET-SECRET-SECRET: {service: a, role: god}\n":        "an unknown role",
		"api_keys:\n  SECRET-SECRET-SECRET: {service: a, role: agent}\n":      "an unknown role",
		"api_keys:\n  SECRET-SECRET-SECRET: {service: a, user: b}\n":          "give one of them",
		"api_keys:\n  SECRET-SECRET-SECRET: {role: user}\n":                   "no valid name",
		"apikeys:\n  SECRET-SECRET-SECRET: a\n":                               "line 1",
		"api_keys: {SECRET-SECRET-SECRET: a}\nauth:\n  header_name: x\n":      "some names stand below auth: and some at the top level",
		"auth:\n  enabled: false\n":                                           "enabled is false",
		"header_name: \"X Y\"\n":                                              "the name of a header",
		"\tSECRET":                                                            "is not valid",
		"api_keys: SECRET-SECRET-SECRET":                                      "is not valid",
		"api_keys: {SECRET-SECRET-SECRET: a}\n---\napi_keys: {SECRET-2: b}\n": "second document",
		"api_keys: {SECRET-SECRET-SECRET: a}\n---\nb: 1\na: [}\n":             "second document",
	} {
		_, err := (&holding{}).readKeys(written(t, text))
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "SECRET") || cmdline.ExitCode(err) != cmdline.ExitUsage {
			t.Errorf("%q: %v, want %q", text, err, says)
		}
	}
	if _, err := (&holding{}).readKeys("/nowhere/keys.yaml"); err == nil {
		t.Error("a file that is not there is read")
	}
}

func TestReadRules(t *testing.T) {
	rules, err := readRules(written(t, "forbidden:\n  - {name: no-sudo, pattern: 'sudo', message: ask}\nallowed:\n  - {name: all, pattern: '.*'}\n"+
		"workdirs: [/data]\nmax_command_bytes: 10\nmax_host_memory_gb: 1.5\nmax_time_limit: 2d\n"))
	if b := rules.Bounds; err != nil || b.Command != 10 || b.MemoryMB != 1500 || b.Time != 48*time.Hour || len(b.WorkDirs) != 1 {
		t.Errorf("%+v, %v", b, err)
	}
	for text, says := range map[string]string{
		"forbid: []": "line 1",
		"forbidden:\n  - {name: a, pattern: '('}":    "rule a",
		"forbidden:\n  - {pattern: 'x'}":             "no name",
		"allowed:\n  - {name: a, pattern: '(x)\\1'}": "allowed: rule a",
		"workdirs: [data]":                           "absolute",
		"max_command_bytes: -1":                      "max_command_bytes must be 0 (none) or more",
		"max_host_memory_gb: .nan":                   "max_host_memory_gb must be 0 (none)",
		"max_host_memory_gb: 0.0009":                 "max_host_memory_gb must be 0 (none)",
		"max_gpu_count: -1":                          "line 1",
		"max_time_limit: soon":                       "max_time_limit",
		"max_cpus: 1\n---\nmax_gpu_count: 1\n":       "second document",
		"max_cpus: 1\n---\nb: 1\na: [}\n":            "second document",
	} {
		_, err := readRules(written(t, text))
		if err == nil || !strings.Contains(err.Error(), says) || cmdline.ExitCode(err) != cmdline.ExitUsage {
			t.Errorf("%q: %v, want %q", text, err, says)
		}
	}
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

// What the groups of an identity provider allow is read from a section or a file, and each fault is named with its line.
func TestGroupsOfTheProvider(t *testing.T) {
	t.Parallel()
	got, err := parseGroups([]byte("ml: user\nops: {role: operator, projects: [infra]}\n"))
	if err != nil || len(got) != 2 || got["ml"].Role != model.RoleUser || got["ops"].Role != model.RoleOperator || len(got["ops"].Projects) != 1 {
		t.Errorf("read as %+v, %v", got, err)
	}
	for text, want := range map[string]string{
		"":                                    "there is no group",
		"ml: god\n":                           `line 1: group "ml": its role is unknown`,
		"a: user\nml: agent\n":                `line 2: group "ml": its role is unknown`,
		"ml: {}\n":                            "its role is unknown",
		"ml: {role: user, project: [a]}\n":    `no "project"`,
		"ml: {role: user, projects: [a b]}\n": "cannot be a project",
		"ml: user\nml: viewer\n":              "line 2",
		"[ml]\n":                              "write GROUP: ROLE",
		"ml: user\n---\nml: viewer\n":         "second document",
	} {
		if _, err := parseGroups([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	path := written(t, "ml: user\n")
	if _, err := readGroups(path); err != nil {
		t.Error(err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := readGroups(path); err == nil || !strings.Contains(err.Error(), "chmod go-w") {
		t.Errorf("a file that all may write: %v", err)
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
