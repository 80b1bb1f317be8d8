package access

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
	keys, err := ReadKeys(written(t, published), os.ReadFile)
	if err != nil || keys.Len() != 2 || keys.Header != "X-Api-Key" {
		t.Fatalf("%d keys, %v", keys.Len(), err)
	}
	if k, _ := keys.Find(auth.HashOf("your-secret-key-2")); k.Name != "inference-service" || k.Human || k.Role != model.RoleUser {
		t.Errorf("the second is %+v", k)
	}
	fuller := "header_name: x-mine\napi_keys:\n  sixteen-bytes-of: {user: root, role: admin, projects: [vision]}\n"
	keys, err = ReadKeys(written(t, fuller), os.ReadFile)
	if k, _ := keys.Find(auth.HashOf("sixteen-bytes-of")); err != nil || k.Name != "root" || !k.Human || k.Role != model.RoleAdmin || len(k.Projects) != 1 {
		t.Errorf("it is %+v, %v", k, err)
	}
	if keys, err = ReadKeys(written(t, ""), os.ReadFile); err != nil || keys.Len() != 0 {
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
		_, err := ReadKeys(written(t, text), os.ReadFile)
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "SECRET") || cmdline.ExitCode(err) != cmdline.ExitUsage {
			t.Errorf("%q: %v, want %q", text, err, says)
		}
	}
	if _, err := ReadKeys("/nowhere/keys.yaml", os.ReadFile); err == nil {
		t.Error("a file that is not there is read")
	}
}

func TestReadRules(t *testing.T) {
	rules, err := ReadRules(written(t, "forbidden:\n  - {name: no-sudo, pattern: 'sudo', message: ask}\nallowed:\n  - {name: all, pattern: '.*'}\n"+
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
		_, err := ReadRules(written(t, text))
		if err == nil || !strings.Contains(err.Error(), says) || cmdline.ExitCode(err) != cmdline.ExitUsage {
			t.Errorf("%q: %v, want %q", text, err, says)
		}
	}
}

// What the groups of an identity provider allow is read from a section or a file, and each fault is named with its line.
func TestGroupsOfTheProvider(t *testing.T) {
	t.Parallel()
	got, err := ParseGroups([]byte("ml: user\nops: {role: operator, projects: [infra]}\n"))
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
		if _, err := ParseGroups([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	path := written(t, "ml: user\n")
	if _, err := ReadGroups(path); err != nil {
		t.Error(err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadGroups(path); err == nil || !strings.Contains(err.Error(), "chmod go-w") {
		t.Errorf("a file that all may write: %v", err)
	}
}
