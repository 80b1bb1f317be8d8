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

// wellKnownSecrets has an example of each form of a secret that others have. The examples are of no use anywhere.
func wellKnownSecrets() map[string]string {
	const letters, hex32 = "aB3dE5gH7jK9mN1pQ3rS5tU7vW9xY1zA2bC4dE6f", "0123456789abcdef0123456789abcdef"
	return map[string]string{ //nolint:gosec // examples
		"JWT": "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0In0." + letters, "JWT unsigned": "eyJhbGciOiJub25lIn0.eyJzdWIiOiIxMjM0In0.", "JWE": "eyJhbGciOiJkaXIifQ..aaaaaaaa.bbbbbbbb.cccc",
		"GitHub": "ghp_" + letters[:36], "GitHub OAuth": "gho_" + letters[:36], "GitHub app": "ghs_" + letters[:36], "GitHub user": "ghu_" + letters[:36], "GitHub refresh": "ghr_" + letters[:36],
		"GitHub fine": "github_pat_" + letters[:22] + "_" + letters, "GitLab": "glpat-" + letters[:20], "GitLab runner": "glrt-" + letters[:20], "GitLab CI": "glcbt-64_" + letters[:20],
		"Hugging Face": "hf_" + letters[:34], "OpenAI": "sk-" + letters, "OpenAI project": "sk-proj-" + letters + "_" + letters, "Anthropic": "sk-ant-api03-" + letters + "-" + letters,
		"OpenRouter": "sk-or-v1-" + hex32, "Groq": "gsk_" + letters, "xAI": "xai-" + letters, "Replicate": "r8_" + letters[:37], "Perplexity": "pplx-" + letters, "NVIDIA": "nvapi-" + letters,
		"AWS": "AKIAIOSFODNN7EXAMPLE", "AWS session": "ASIAIOSFODNN7EXAMPLE", "Slack": "xoxb-123456789012-1234567890123-" + letters[:24], "Slack user": "xoxp-1234-" + letters, "Slack app": "xapp-1-A012-" + letters,
		"Google": "AIza" + letters[:35], "Google OAuth": "ya29." + letters, "Google client": "GOCSPX-" + letters[:28], "npm": "npm_" + letters[:36], "PyPI": "pypi-AgEIcHlwaS5vcmc" + letters,
		"Stripe": "sk_live_" + letters[:24], "Stripe restricted": "rk_test_" + letters[:24], "SendGrid": "SG." + letters[:22] + "." + letters, "Twilio": "SK" + hex32, "Mailgun": "key-" + hex32, "Mailchimp": hex32 + "-us12",
		"Vault": "hvs." + letters, "Terraform": letters[:14] + ".atlasv1." + letters, "Atlassian": "ATATT3" + letters, "Azure": "abc8Q~" + letters[:34], "Databricks": "dapi" + hex32, "Telegram": "123456789:AA" + letters[:33],
		"Discord": "M" + letters[:23] + "." + letters[:6] + "." + letters[:27], "Docker": "dckr_pat_" + letters[:27], "DigitalOcean": "dop_v1_" + hex32 + hex32, "Grafana": "glsa_" + letters[:32] + "_01234567",
		"LangSmith": "lsv2_pt_" + hex32 + "_0123456789", "Tailscale": "tskey-auth-" + letters, "k3s": "K10" + hex32 + hex32 + "::server:" + hex32, "W&B": "wandb_v1_" + letters, "RunPod": "rpa_" + letters,
	}
}

// Every well-known form of a secret is removed wherever it stands, without a name that gives it away.
func TestWellKnownSecretsAreRemoved(t *testing.T) {
	t.Parallel()
	for name, secret := range wellKnownSecrets() {
		for _, frame := range []string{"got %s back", "%s", `{"value":"%s","b":1}`, "x=%s;y", "(%s)", "line one\n%s\nline three"} {
			var f Filter
			got := f.Text(strings.Replace(frame, "%s", secret, 1))
			if strings.Contains(got, secret[len(secret)-6:]) || !strings.Contains(got, Removed) {
				t.Errorf("%s: %q left %q", name, frame, got)
			}
		}
	}
}

// Values of variables and options whose names are those of secrets are removed.
func TestNamedSecretsAreRemoved(t *testing.T) {
	t.Parallel()
	const secret = "Tr0ub4dor"
	for _, text := range []string{
		"WANDB_KEY=%s", "PGPASS=%s", "DB_PWD=%s", "SSH_PASS=%s", "MYSQL_PWD=%s", "MYSQL_ROOT_PASSWORD=%s", "RESTIC_PASSWORD=%s", "WANDB_API_KEY=%s", "AZURE_STORAGE_KEY=%s", "AccountKey=%s", "SharedAccessKey=%s",
		"ENCRYPTION_KEY=%s", "LICENSE_KEY=%s", "SENTRY_DSN=%s", "VAULT_TOKEN=%s", "OPENAI_KEY: %s", "export A_KEY='%s'", `B_PASS="%s"`, `{"DB_PWD": "%s"}`, "WIFI_PSK=%s", "REDIS_AUTH=%s", "KEY=%s", "AWS_SECRET_ACCESS_KEY=%s",
		"mysql -u root -p%s db", "mysql -u root -p %s db", "sshpass -p %s ssh a", "docker login -u ann -p %s reg", "prog --password %s x", "prog --password=%s x", "curl -u ann:%s https://a", "curl --user ann:%s https://a",
		"redis-cli -a %s ping", "ldapsearch -w %s -x", "https://ann:%s@a.example/", "ssh://git:%s@a.example/x", "Cookie: a=%s", "client_secret=%s&x=1", "Authorization: Basic %s==", "Proxy-Authorization: Basic %s==",
	} {
		var f Filter
		if got := f.Text(strings.Replace(text, "%s", secret, 1)); strings.Contains(got, secret) {
			t.Errorf("%q left %q", text, got)
		}
	}
}

// Ordinary lines stay as they are: of logs, settings, tables and commands.
func TestOrdinaryLinesStay(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"time=2026-11-28T13:56:19.840Z level=INFO msg=\"agent started\" node=gpu1 listen=10.0.0.11:7001 data=/var/lib/berth/agent machine=simulated-GPU-fe393ce3-0425-4184-93d6-48f238841674 simulated_gpus=4 version=devel",
		"PWD=/srv/ann", "OLDPWD=/srv/ann/x", "SSH_KEY=/etc/berth/key", "server.tls_key: /etc/berth/tls.key", "key: value", "keys: 3", "sort key=user", "public key: age1xyz", "the key of gossip was replaced",
		"mkdir -p /var/lib/berth", "ssh -p 2222 host", "cp -p a b", "systemctl show -p User,ReadWritePaths berth-server", "nvidia-smi -p 0", "berth submit -p high -- sh", "ps -p 1", "rsync -a /src /dst", "ls -a /etc",
		"task-1234567890abcdef1234567890abcdef", "risk-0123456789abcdef0123456789", "disk-nvme0n1p1-0123456789abcdef", "ask-me-anything-about-the-cluster-please", "a sk-learn pipeline", "mask-rcnn-resnet50-fpn-coco-train-2026",
		"npm_config_cache=/tmp/x", "hf_hub_download", "pass 12 of 40 took 3 ms", "compass=north", "bypass: true", "monkey=banana", "pin=9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
		"GPU-fe393ce3-0425-4184-93d6-48f238841674", "commit beedc3a5d1f0a6b0e2f3c4d5e6f708192a3b4c5d", "digest=sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "berth-1f3c2a90-20260131T020000Z-90211.berth.tar.zst",
		"hvs of 12", "SG.1 is up", "AKIA is a prefix", "glass-0123456789abcdef0123456789", "curl -sS https://10.0.0.1:10000/healthz", "gateway: 10.0.0.254",
	} {
		var f Filter
		if got := f.Text(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}
