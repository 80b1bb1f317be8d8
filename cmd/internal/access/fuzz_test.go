package access

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"golang.org/x/net/http/httpguts"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/auth"
)

// scalars are the texts of a document: those of keys below api_keys, and all others.
func scalars(n *yaml.Node, below bool) (secrets, others []string) {
	if n.Kind == yaml.ScalarNode {
		return nil, []string{n.Value}
	}
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 && child.Kind == yaml.ScalarNode && below {
			secrets = append(secrets, child.Value)
			continue
		}
		keys := n.Kind == yaml.MappingNode && i%2 == 1 && n.Content[i-1].Value == "api_keys"
		s, o := scalars(child, keys)
		secrets, others = append(secrets, s...), append(others, o...)
	}
	return secrets, others
}

// FuzzKeys: for any file of keys, each accepted key is found again with its owner, and
// errors never contain a key.
func FuzzKeys(f *testing.F) {
	for _, text := range []string{
		"auth:\n  enabled: true\n  header_name: \"X-API-Key\"\n  api_keys:\n    \"your-secret-key-1\": \"training-service\"\n", "",
		"api_keys:\n  sixteen-bytes-of: {user: root, role: admin, projects: [vision]}\n", "api_keys: {your-secret-key-1: &a x, your-secret-key-2: *a}",
		"api_keys:\n  your-secret-key-1: a\n  your-secret-key-1: b\n", "api_keys:\n  ? [your-secret-key-1]\n  : a\n", "api_keys: {your-secret-key-1: {x: y}}",
		"api_keys: {'your-secret-key-1 ': a}", "api_keys: {\"your-secret\\nkey-1\": a}", "api_keys: {\"your-secret\\x7fkey-1\": a}",
		"api_keys: &a {your-secret-key-1: a}\n<<: {api_keys: *a}\n", "api_keys: {your-secret-key-1: ~}", "api_keys: {1234567890123456: 7}\n---\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		keys, err := ParseKeys([]byte(text))
		if err != nil {
			holdsNoKey(t, text, err)
			return
		}
		var file keyFile
		if strings.TrimSpace(text) != "" {
			_ = yaml.Unmarshal([]byte(text), &file) // it was taken
		}
		section := file.keySection
		if file.Auth != nil {
			section = *file.Auth
		}
		if keys.Len() != len(section.Keys) || !strings.EqualFold(keys.Header, section.Header) {
			t.Fatalf("%d keys of %d are known, by the header %q", keys.Len(), len(section.Keys), keys.Header)
		}
		for secret, owner := range section.Keys {
			got, found := keys.Find(auth.HashOf(secret))
			if !found || got.Name != owner.Service+owner.User || got.Human != (owner.User != "") || !model.Name(got.Name) || !got.Role.Human() ||
				len(secret) < auth.MinKey {
				t.Fatalf("a key of %+v stands for %+v (found: %t)", owner, got, found)
			}
			if shown, _ := auth.Presented(http.Header{"X-Api-Key": {secret}}, ""); shown != secret || !httpguts.ValidHeaderFieldValue(secret) {
				t.Fatalf("no request can show the key %q of %+v", secret, owner)
			}
		}
	})
}

// holdsNoKey fails if an error quotes a key, or says nothing.
func holdsNoKey(t *testing.T, text string, err error) {
	t.Helper()
	if strings.TrimSpace(err.Error()) == "" {
		t.Fatal("an error without words")
	}
	var doc yaml.Node
	if yaml.Unmarshal([]byte(text), &doc) != nil {
		return
	}
	secrets, others := scalars(&doc, false)
	for _, s := range secrets {
		public := func(o string) bool { return strings.Contains(o, s) }
		if len(s) >= auth.MinKey && strings.Contains(err.Error(), s) && !slices.ContainsFunc(others, public) {
			t.Fatalf("of %q it says: %v", text, err)
		}
	}
}

// FuzzRules: whatever stands in a file of rules, no bound that was given is lost, and what
// is wrong is told by its name or its line.
func FuzzRules(f *testing.F) {
	for _, text := range []string{
		"forbidden:\n  - {name: no-sudo, pattern: 'sudo', message: ask}\nallowed:\n  - {name: all, pattern: '.*'}\nworkdirs: [/data]\nmax_command_bytes: 10\n",
		"max_host_memory_gb: 1.5\nmax_time_limit: 2d\nmax_gpu_count: 1\nmax_cpus: 2\nmax_script_bytes: 3\nmax_env_variables: 4\n", "", "forbidden: [~]",
		"max_host_memory_gb: 0.0001", "max_host_memory_gb: 4294967.295", "max_host_memory_gb: .inf", "max_time_limit: 1ns", "max_time_limit: -1s", "a: 1",
		"allowed: [{name: a, pattern: 'a)|(b'}]", "workdirs: ['']", "max_cpus: 4294967296", "forbidden: [{name: 'a b'}]", "max_command_bytes: -1",
	} {
		f.Add(text)
	}
	place := regexp.MustCompile(`line [0-9]+|document|forbidden: rule|allowed: rule|workdirs|max_|yaml: `)
	f.Fuzz(func(t *testing.T, text string) {
		rules, err := parseRules([]byte(text))
		if err != nil {
			if !place.MatchString(err.Error()) {
				t.Fatalf("of %q it says: %v", text, err)
			}
			return
		}
		var file ruleFile
		if strings.TrimSpace(text) != "" {
			_ = yaml.Unmarshal([]byte(text), &file) // it was taken
		}
		b := rules.Bounds
		if b.Command != file.Command || b.Script != file.Script || b.Env != file.Env || b.GPUs != file.GPUs || b.CPUs != file.CPUs ||
			!slices.Equal(b.WorkDirs, file.WorkDirs) || min(b.Command, b.Script, b.Env) < 0 {
			t.Fatalf("%+v became %+v", file, b)
		}
		if (b.MemoryMB > 0) != (file.MemoryGB > 0) || (b.Time > 0) != (file.Time != "") || b.Time < 0 || b.Time > model.MaxDuration {
			t.Fatalf("a bound was lost: %+v became %+v", file, b)
		}
	})
}
