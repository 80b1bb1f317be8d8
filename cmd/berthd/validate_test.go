package main

import (
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/cmd/internal/config"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
)

// What only a start would refuse is told before it, all of it at once and by its lines,
// and nothing is made on the way.
func TestValidateHoldsSettingsAgainstEachOther(t *testing.T) {
	folder, folders := t.TempDir(), regexp.MustCompile(`\S*/`)
	t.Chdir(folder)
	rules := writeFile(t, "forbidden: [{name: x, pattern: '('}]\nworkdirs: [here]\n")
	for text, says := range map[string][]string{
		"server:\n  http: 0.0.0.0:10000\n  data_dir: p1\n": {"berth.yaml:2: server.http: 0.0.0.0:10000 can be reached from other machines"},
		"server:\n  http: here\n  listen: 10.0.0.1\n  join: ['10.0.0.2']\n  bootstrap: [p1]\n": {
			"berth.yaml:2: server.http: \"here\" is not host:port", "berth.yaml:3: server.listen: \"10.0.0.1\" is not host:port", "berth.yaml:4: server.join: \"10.0.0.2\" is not host:port",
			"berth.yaml:5: server.bootstrap founds a cluster and berth.yaml:4: server.join joins one", "berth.yaml:5: server.bootstrap: \"p1\" is not id=address",
		},
		"server:\n  id: p3\n  bootstrap: [p1=127.0.0.1:7001, p2=127.0.0.1:7002]\n":              {"berth.yaml:3: server.bootstrap does not list this peer as p3="},
		"server:\n  listen: 127.0.0.1:7003\n  bootstrap: [p1=127.0.0.1:7001]\n":                 {"berth.yaml:3: server.bootstrap does not list this peer as ID=127.0.0.1:7003"},
		"server:\n  http: 127.0.0.1:7000\n  listen: 127.0.0.1:7000\n  id: ''\n  data_dir: ''\n": {"berth.yaml:2: server.http and berth.yaml:3: server.listen are the same", "berth.yaml:4: server.id is missing", "berth.yaml:5: server.data_dir is missing"},
		"auth:\n  enabled: perhaps\n  api_keys: {SECRET: a, SECRET2: b}\nserver: {http: '0.0.0.0:1'}\nworkload_defaults:\n  ocr: {gpus: 0}\n  x: {}\n": {
			"berth.yaml:2: auth.enabled must be", "berth.yaml:3: the key of \"a\" has 6 bytes", "berth.yaml:3: the key of \"b\" has 7 bytes",
			"berth.yaml:6: gpus must be", "berth.yaml:7: there is no type",
		},
		"server:\n  http: 10.0.0.1:99999\n  listen: 127.0.0.1:70000\n  tls_cert: /no/cert\n  tls_key: /no/key\nauth: {enabled: true}\n": {
			"berth.yaml:2: server.http: \"10.0.0.1:99999\" has no port", "berth.yaml:3: server.listen: \"127.0.0.1:70000\" has no port",
			"berth.yaml:4: server.tls_cert: cert: this account cannot use the file: no such file", "berth.yaml:5: server.tls_key: key: this account cannot",
		},
		"agent:\n  gpus: sim:8\n  simulate_gpus: 4\n  prolog: /no/prolog\n": {
			"berth.yaml:2: agent.gpus sim:8 and berth.yaml:3: agent.simulate_gpus contradict", "berth.yaml:4: agent.prolog: prolog: this account cannot",
		},
		"agent: {xids: ['abc=def']}\n":            {"berth.yaml:1: agent.xids abc=def"},
		"\tserver: {id: a}\n":                     {"berth.yaml:1: found character that cannot start any token: indent with spaces"},
		"auth:\n  command_rules: " + rules + "\n": {"missing closing", "workdirs: \"here\" is no absolute path"},
		"agent:\n  gpus: amd\n  labels: ['=']\n  listen: 0.0.0.0:1\n  prolog: here\n  log_dir: there\n  accounts: {a: b}\n": {
			"agent.accounts, agent.mapped_only", "berth.yaml:2: agent.gpus", "berth.yaml:3: agent.labels", "berth.yaml:4: agent.listen", "berth.yaml:5: agent.prolog", "berth.yaml:6: agent.log_dir",
		},
	} {
		code, out, errs := called("config", "validate", writeFile(t, text))
		lines := strings.Split(strings.TrimSuffix(folders.ReplaceAllString(errs, ""), "\n"), "\n")
		told := len(lines) == len(says)+1 && code == cmdline.ExitUsage && !strings.Contains(out+errs, "SECRET")
		for i, want := range says {
			told = told && strings.Contains(lines[i], want)
		}
		if !told {
			t.Errorf("%q: exit code %d, %s%s\nwant %q", text, code, out, errs, says)
		}
	}
	if made, err := os.ReadDir(folder); err != nil || len(made) > 0 {
		t.Errorf("it made %v: %v", made, err)
	}
}

// What a file leaves to flags and variables is no error of the file's.
func TestValidateTakesAPartForAPart(t *testing.T) {
	for _, text := range []string{
		"", "server: {bootstrap: [p1=127.0.0.1:7001, p2=127.0.0.1:7002]}\n", "server: {id: p2, bootstrap: [p1=127.0.0.1:7001, p2=127.0.0.1:7002]}\n",
		"server: {listen: '127.0.0.1:7002', bootstrap: [p1=127.0.0.1:7001, p2=127.0.0.1:7002]}\n", "agent: {peers: ['10.0.0.1:10000']}\n",
	} {
		if code, out, errs := called("config", "validate", writeFile(t, text)); code != 0 {
			t.Errorf("%q: exit code %d, %s%s", text, code, out, errs)
		}
	}
}

// In a unit only what keeps its own program from a start is an error; by hand both roles are judged.
func TestValidateInAUnitJudgesItsRole(t *testing.T) {
	t.Parallel()
	for _, v := range []struct{ text, role string }{
		{"agent: {prolog: /no/prolog}\n", "node"},
		{"agent: {prolog: here}\n", "node"},
		{"agent: {gpus: amd}\n", "node"},
		{"agent: {shared_account: true, run_as_users: true}\n", "node"},
		{"server: {tls_cert: /no/cert, tls_key: /no/key}\n", "peer"},
		{"auth: {enabled: true, keys_file: /no/keys}\n", "peer"},
		{"auth: {command_rules: /no/rules}\n", "peer"},
		{"workloads: {defaults_file: /no/defaults}\n", "peer"},
		{"server: {http: '0.0.0.0:10000'}\n", "peer"},
		{"backup: {dir: here}\n", "peer"},
	} {
		c, err := config.Load(config.Source{File: writeFile(t, v.text)})
		if err != nil {
			t.Fatal(err)
		}
		for _, unit := range []string{"", "peer", "node"} {
			warnings, fatal := judged(t.Context(), c, unit)
			warned := slices.ContainsFunc(warnings, func(w string) bool { return strings.HasPrefix(w, "Warning: ") })
			if own := unit == "" || unit == v.role; (fatal != nil) != own || warned == own {
				t.Errorf("%s in the unit of %q: %v, %q", v.text, unit, fatal, warnings)
			}
		}
	}
}

// A file with keys is judged for the account that reads it, which may own it.
func TestValidateJudgesKeysForTheirReader(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to give files away")
	}
	const berth = 990
	keys := writeFile(t, "api_keys: {sixteen-bytes-of-a-key: ann}\n")
	if err := errors.Join(os.Chmod(keys, 0o600), os.Chown(keys, berth, berth)); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(config.Source{File: writeFile(t, "auth: {enabled: true, keys_file: "+keys+"}\n")})
	if err != nil {
		t.Fatal(err)
	}
	if err := unusable(c, "peer", config.Reader{UID: berth}); err != nil {
		t.Errorf("keys of the account of peers: %v", err)
	}
	if err := unusable(c, "peer", config.Reader{UID: berth + 1}); err == nil || !strings.Contains(err.Error(), "belongs to user id 990") {
		t.Errorf("keys of another account: %v", err)
	}
}
