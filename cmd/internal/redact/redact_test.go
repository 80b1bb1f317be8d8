package redact

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"
)

// Each kind of secret is removed, in each form in which it may occur, and what is around it stays.
func TestSecretsAreRemoved(t *testing.T) {
	const secret = "s3cretValueThatMustNotLeave0123456789abcdefg"
	token := "berth_" + secret[:43]
	for name, c := range map[string]struct{ text, want string }{
		"a token":              {"actor has " + token + " now", "actor has (removed) now"},
		"a join token":         {"echo berth-join-node-0123456789abcdef0123456789abcdef-" + strings.Repeat("ab", 32) + " | berth join", "echo (removed) | berth join"},
		"a webhook's secret":   {`{"signed_by": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}`, `{"signed_by": "(removed)"}`},
		"a private key":        {"a\n-----BEGIN PRIVATE KEY-----\n" + secret + "\n-----END PRIVATE KEY-----\nb", "a\n(removed)\nb"},
		"another private key":  {"-----BEGIN EC PRIVATE KEY-----\n" + secret + "\n-----END EC PRIVATE KEY-----", "(removed)"},
		"a key that is cut":    {"-----BEGIN OPENSSH PRIVATE KEY-----\n" + secret, "(removed)"},
		"a key without a head": {"host berthd[1]: " + secret + "\nhost berthd[1]: -----END PRIVATE KEY-----\nrest", "(removed)\nrest"},
		"an identity of age":   {"# public key: age1xyz\nAGE-SECRET-KEY-1" + strings.ToUpper(secret), "# public key: age1xyz\n(removed)"},
		"a header":             {"Authorization: Bearer " + secret + "\nHost: a", "Authorization: (removed)\nHost: a"},
		"a header in JSON":     {`{"Authorization":"Bearer ` + secret + `","a":1}`, `{"Authorization":(removed),"a":1}`},
		"a header of keys":     {"X-API-Key: " + secret, "X-API-Key: (removed)"},
		"a cookie":             {"Cookie: session=" + secret + "; a=b", "Cookie: (removed)"},
		"a bearer alone":       {"sent bearer " + secret, "sent bearer (removed)"},
		"a password in a URL":  {"postgres://ann:" + secret + "@db.example/jobs", "postgres://(removed)@db.example/jobs"},
		"both in a URL":        {"https://ann:" + secret + "@a.example/x?key=" + secret, "https://(removed)@a.example/x?key=(removed)"},
		"a token in base64":    {"data " + base64.StdEncoding.EncodeToString([]byte("xy"+token+"z")) + " end", "data (removed) end"},
		"a variable in base64": {base64.URLEncoding.EncodeToString([]byte("DB_PASSWORD=" + secret)), "(removed)"},
		"a header in hex":      {hex.EncodeToString([]byte("Authorization: Basic " + secret)), "(removed)"},
		"a query":              {"GET https://a.example/x?sig=" + secret + "&n=1 failed", "GET https://a.example/x?sig=(removed)&n=(removed) failed"},
		"a fragment":           {"https://a.example/ui#" + secret, "https://a.example/ui"},
		"a webhook":            {"https://hooks.slack.com/services/T0/B0/" + secret, "https://hooks.slack.com/(removed)/(removed)/(removed)/(removed)"},
		"a key in a path":      {"https://a.example/v1/" + secret + "/send", "https://a.example/v1/(removed)/send"},
		"a variable":           {"export AWS_SECRET_ACCESS_KEY=" + secret + " A=b", "export AWS_SECRET_ACCESS_KEY=(removed) A=b"},
		"a quoted variable":    {`DB_PASSWORD="a b ` + secret + `" x`, `DB_PASSWORD=(removed) x`},
		"a line of YAML":       {"  hf_token: " + secret + "\n  b: 1", "  hf_token: (removed)\n  b: 1"},
		"a field of JSON":      {`{"api_key": "` + secret + `", "b": 1}`, `{"api_key": (removed), "b": 1}`},
		"JSON within a line":   {`msg="{\"password\":\"` + secret + `\",\"b\":1}"`, `msg="{\"password\":(removed),\"b\":1}"`},
		"an option":            {"run --token " + secret + " -v", "run --token (removed) -v"},
		"an option with =":     {"run --wandb-api-key=" + secret, "run --wandb-api-key=(removed)"},
		"a mount with options": {"//nas/x /mnt cifs rw,username=ann,password=" + secret + ",uid=0", "//nas/x /mnt cifs rw,username=ann,password=(removed),uid=0"},
	} {
		var f Filter
		if got := f.Text(c.text); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A secret that is known is removed whatever is around it, also where it is encoded.
func TestKnownSecretsAreRemoved(t *testing.T) {
	const secret = "plainWord17"
	var f Filter
	f.Know(secret, "", "abc")
	text := "x" + secret + "y " + base64.StdEncoding.EncodeToString([]byte(secret)) + " " + hex.EncodeToString([]byte(secret)) + " abc"
	if got := f.Text(text); got != "x(removed)y (removed)= (removed) abc" {
		t.Errorf("%q", got)
	}
}

// What looks like a secret and is none stays: a report without names of metrics and settings is of no use.
func TestTheRestStays(t *testing.T) {
	for _, text := range []string{
		"berth_jobs_waiting{user=\"ann\"} 3\nberth_gossip_members_by_kind_and_state_of_the_cluster_everywhere 4",
		"auth.enabled: true\nauth.keys_file: /etc/berth/keys.yaml\nauth.rate_limit: 300",
		"10.0.0.1:10000 https://10.0.0.1:10000/cluster/peers",
		"the token expires in 3 days; ask an admin for another token",
		"/var/lib/berth/server/trust/authority.key 0600 241",
		`{"token": "", "password": null, "has_secret": false}`,
		"-----BEGIN CERTIFICATE-----\nMIIBpzCCAU2gAwIBAgIRAJnXv0o9mCkS8JZqm1XtzZUwCgYIKoZIzj0EAwIwJjEk\n-----END CERTIFICATE-----",
		"sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 of /usr/lib/systemd/system/berth-server.service",
	} {
		var f Filter
		if got := f.Text(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add("https://a:b@c/d?e=f#g")
	f.Add("password=\"\\")
	f.Fuzz(func(t *testing.T, text string) {
		var filter Filter
		once := filter.Text(text)
		if strings.Contains(once, "AGE-SECRET-KEY-1") {
			t.Error("an identity is left")
		}
	})
}
