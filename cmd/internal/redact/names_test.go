package redact

import (
	"strings"
	"testing"
)

// Names of secrets are known in all ways of writing: as a whole, by their parts, in small and capital letters.
func TestNamesOfSecrets(t *testing.T) {
	t.Parallel()
	for _, name := range strings.Fields(`pass Pass PASS pwd Pwd passwd pw db_pass DB_PASS db-pass dbPass DBPass pgpass PGPASS rootpass userPwd
		mysql_pwd pass1 DB_PASS_PROD pass_phrase passphrase psk wifi_psk wpa-psk otp OTP totp_seed dsn sentry_dsn
		SENTRY_DSN spring.datasource.pass wandb_key WANDB_KEY wandb-key wandbKey ssl_key encryption-key license_keys
		storageKey redis_auth REDIS_AUTH sim_pin hash_salt PIN SALT AUTH KEY creds aws_creds passcode passkey pswd
		kennwort ldap_bindpw github_pat GH_PAT jwt session_jwt seed_phrase recovery-phrase api_key apiKey token
		x_token secret clientSecret SharedAccessSignature ConnectionString connection_string`) {
		if !secretly(name) {
			t.Errorf("%s is no secret", name)
		}
	}
	for _, name := range strings.Fields(`compass bypass monkey keys key auth pin salt public_key publicKey primary_key sort-key cache_key
		passage passed passive pass_count pass-through passThrough pwd_path cwd oldest pattern path spa gateway keyboard
		keyring passes surpass cwd dsnap psky option otpional author authors authority pinned hotkey http_status
		run_as_users data_dir`) {
		if secretly(name) {
			t.Errorf("%s is a secret", name)
		}
	}
}

// Values of secret names are removed in the languages in which they are written, and nothing of them is left.
func TestFormsOfNamedSecrets(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"pass: %s", `{"pass":"%s"}`, "db_pass=%s", "pgpass=%s", "wandb_key=%s", "Server=db;Uid=ann;Pwd=%s;", "Pwd=%s;Server=db", "--pass %s",
		"--pwd %s", "--pass=%s", "x --db-pass '%s' y", `["--pass", "%s"]`,
		"AZURE_STORAGE_KEY=/%s/Ab+9==", "AZURE_STORAGE_KEY=/%s", "pass: '/%s'", "KEY=/x/%s", `"otp": "%s"`, "dsn: ann:%s@tcp(db)/jobs",
		"psk = \"%s\"", "  wpa-psk: %s",
		"pass: correct %s battery staple", "pass: |\n  one\n  %s\nnext: 1", "- pass: >-\n    %s\n  user: ann",
		"passwords:\n  - one\n  - %s\nnext: 1", "passwords: [one, %s]", `{"passwords": ["one", "%s"]}`,
		`{"pass":"a\"b%s"}`, `msg="{\"pass\":\"a%s\",\"b\":1}"`, `"{\\\"pass\\\":\\\"%s\\\"}"`, "{'pass': 'x''%s'}", "{'pass': b'%s'}",
		`{"pass" => "%s"}`, `pass := "%s"`, `if pass == "%s" {`, "pass = %s",
		"DB_PASS=a,%s\nB=c", "export DB_PASS=a;%s", "<pass>%s</pass>", `<db:password type="x">%s</db:password>`,
		`<add name="DbPassword" value="%s"/>`, "- name: DB_PASS\n  value: %s", `{"name":"DB_PASS","value":"%s"}`,
		"setenv DB_PASS %s", "ENV DB_PASS %s", "machine a login ann password %s", "localhost:5432:jobs:ann:%s", "Driver=x;PWD={%s;x};",
		"openssl rsa -passin pass:%s", "config['pass'] = '%s'", `"password":
  "%s"`,
		"user=ann&pass=%s&n=1", "A=b\x00DB_PASS=%s\x00C=d", "connection_string: Server=db;%s", "dbPass: %s", "-pass %s", "PASS_2=%s", "pass=<%s>",
	} {
		for _, secret := range []string{"Tr0ub4dor", "9kLmZx"} {
			var f Filter
			got := f.Text("before\n" + strings.Replace(text, "%s", secret, 1) + "\nafter")
			if strings.Contains(got, secret) || !strings.HasPrefix(got, "before\n") || !strings.HasSuffix(got, "\nafter") {
				t.Errorf("%q left %q", text, got)
			}
		}
	}
}

// What stands next to a secret stays.
func TestTheRestOfALineStays(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{ //nolint:gosec // examples
		"Server=db;Pwd=x1;Uid=ann":                  "Server=db;Pwd=(removed);Uid=ann",
		`{"pass":"x1","user":"ann"}`:                `{"pass":(removed),"user":"ann"}`,
		"run --pass x1 --user ann":                  "run --pass (removed) --user ann",
		"run --pass --user ann":                     "run --pass --user ann",
		"pass: x1 # of ann\nuser: ann":              "pass: (removed) # of ann\nuser: ann",
		"pass:\n  user: ann\n  value: 1":            "pass:\n  user: ann\n  value: 1",
		"tokens:\n  - x1\n  - x2\nuser: ann":        "tokens:(removed)\nuser: ann",
		"pass: |\n  x1\n  a: b\nuser: ann":          "pass: (removed)\nuser: ann",
		"pass: $DB_PASS ${A}":                       "pass: (removed)",
		"pass: $DB_PASS":                            "pass: $DB_PASS",
		"pass: {{ vault_pass }}":                    "pass: {{ vault_pass }}",
		"- name: DB_PASS\n  valueFrom: {a: b}":      "- name: DB_PASS\n  valueFrom: {a: b}",
		"credentials: {user: ann, pass: x1, n: 2}":  "credentials: {user: ann, pass: (removed), n: 2}",
		"level=INFO msg=\"a pass=x1 b\" node=gpu1":  "level=INFO msg=\"a pass=(removed) b\" node=gpu1",
		"key_file=/etc/x ssl_key=/etc/ssl/Key1.pem": "key_file=/etc/x ssl_key=/etc/ssl/Key1.pem",
		"PWD=/srv/Ann=x":                            "PWD=/srv/Ann=x",
	} {
		var f Filter
		if got := f.Text(text); got != want {
			t.Errorf("%q became %q, not %q", text, got, want)
		}
	}
}
