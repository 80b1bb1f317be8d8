package redact

import (
	"slices"
	"strings"
	"unicode"
)

// telling matches the name of a variable, a field or an option that holds a secret, wherever these letters are in it.
var telling = lazy(`(?i)secret|token|passw(?:or)?d|passphrase|passwd|api[_-]?keys?|` +
	`private[_-]?key|access[_-]?key|account[_-]?key|shared[_-]?key|sharedaccesssignature|credential|bearer|cookie|connection[_-]?string`)

// wordsOfSecrets are the words that make a name one of a secret, unless the next word says that it is about one.
var wordsOfSecrets = []string{
	"pass", "pwd", "passwd", "pw", "pswd", "psswd", "pword", "passcode", "passkey", "passphrase", "passwort", "kennwort", "psk", "otp",
	"totp", "hotp", "dsn", "cred", "creds",
	"mnemonic", "sas", "jwt", "pat",
}

// ordinary are words that end as those of secrets do.
var ordinary = []string{
	"compass", "encompass", "bypass", "trespass", "overpass", "underpass", "surpass", "multipass", "singlepass", "subpass", "allpass",
	"highpass", "lowpass", "bandpass", "backpass",
	"onepass", "twopass", "firstpass", "lastpass", "nextpass", "prepass", "renderpass", "impass", "cwd", "oldpwd",
}

// aspects are words after which a name is about a secret, and holds none: pass_count.
var aspects = []string{
	"through", "thru", "count", "rate", "rates", "ed", "fail", "failed", "number", "file", "files", "path", "dir", "id", "ids", "by",
	"filter", "band", "length", "len", "min", "max", "age",
	"policy", "expires", "expiry", "ttl", "life", "type", "kind", "env", "fd", "prompt", "stdin", "time", "times", "seconds", "ms", "limit",
	"limits", "interval", "percent",
}

// open are words before "key" that make a name one of no secret: public_key.
var open = []string{
	"public", "pub", "primary", "foreign", "sort", "sorting", "partition", "group", "grouping", "order", "cache", "index", "lookup", "map",
	"dict", "object", "row", "shard", "routing",
	"idempotency", "dedup", "join", "unique", "composite", "natural", "candidate", "hot", "enter", "any", "known", "translation", "metric",
	"label", "field", "config", "setting", "json", "yaml",
	"host", "topology", "the", "a", "of", "by", "each",
}

// secretly reports whether a name is that of a secret.
func secretly(name string) bool {
	name = strings.Trim(name, "._-")
	if telling().MatchString(name) {
		return true
	}
	name = name[strings.LastIndexByte(name, '.')+1:]
	loud := strings.ToUpper(name) == name // a variable of the environment
	words := split(name)
	for i, w := range words {
		next := ""
		if i+1 < len(words) {
			next = words[i+1]
		}
		if isPassword(w) && (w != "pat" || len(words) > 1) && !slices.Contains(aspects, next) {
			return true
		}
		if (w == "seed" || w == "recovery") && next == "phrase" {
			return true
		}
	}
	last := words[len(words)-1]
	switch {
	case loud && (strings.HasSuffix(last, "key") || strings.HasSuffix(last, "keys")):
		return true
	case last == "key" || last == "keys":
		return len(words) > 1 && !slices.Contains(open, words[len(words)-2])
	case last == "pin" || last == "salt" || last == "auth":
		return loud || len(words) > 1
	}
	return loud && (strings.HasSuffix(last, "pin") || strings.HasSuffix(last, "salt"))
}

// isPassword reports whether a word of a name is that of a password: pgpass is, and compass is not.
func isPassword(w string) bool {
	if slices.Contains(wordsOfSecrets, w) {
		return true
	}
	ends := strings.HasSuffix(w, "pass") || strings.HasSuffix(w, "pwd") || strings.HasSuffix(w, "psk") || strings.HasSuffix(w, "pw")
	return ends && !slices.Contains(ordinary, w)
}

// split returns the words of a name in small letters and without numbers at their ends: of DB_PASS2, db-pass and dbPass alike.
func split(name string) (words []string) {
	for _, part := range strings.FieldsFunc(name, func(r rune) bool { return r == '_' || r == '-' }) {
		letters, from := []rune(part), 0
		for i := 1; i <= len(letters); i++ {
			if i == len(letters) || begins(letters, i) {
				words = append(words, strings.ToLower(strings.TrimRight(string(letters[from:i]), "0123456789")))
				from = i
			}
		}
	}
	words = slices.DeleteFunc(words, func(w string) bool { return w == "" })
	if len(words) == 0 {
		return []string{""}
	}
	return words
}

// begins reports whether a capital letter begins a word, as both do in DBPass.
func begins(letters []rune, i int) bool {
	if !unicode.IsUpper(letters[i]) {
		return false
	}
	return !unicode.IsUpper(letters[i-1]) || i+1 < len(letters) && unicode.IsLower(letters[i+1])
}

// tops are the folders in which paths begin.
var tops = []string{
	"etc", "var", "srv", "home", "root", "run", "tmp", "opt", "usr", "mnt", "media", "data", "dev", "proc", "sys", "lib", "lib64", "boot",
	"nfs", "scratch", "shared", "projects", "work", "workspace",
	"secrets", "vault", "private", "app", "config", "certs", "keys", "ssl", "pki", "net", "lustre", "gpfs", "beegfs", "ceph", "export",
	"volumes", "Users", "nix", "snap", "bin", "sbin", "local", "ssh",
}

// plainPart matches a part of a path that no random text is: small letters.
var plainPart = lazy(`^[a-z0-9._@%~-]{0,40}$`)

// isPath reports whether a value is the path of a file, which is no secret: SSH_KEY=/etc/ssh/key. One in 64 secrets in base64 begins with a
// slash, and has capital letters, an end of = or +, or no second slash.
func isPath(value string) bool {
	value = strings.Trim(value, `\"'`)
	rest, is := strings.CutPrefix(strings.TrimPrefix(value, "~"), "/")
	if !is || strings.HasSuffix(value, "=") || strings.HasSuffix(value, "+") {
		return false
	}
	parts := strings.Split(rest, "/")
	if len(parts) < 2 && !strings.HasPrefix(value, "~") {
		return false
	}
	return slices.Contains(tops, parts[0]) || !slices.ContainsFunc(parts, func(p string) bool { return !plainPart().MatchString(p) })
}

// harmless reports whether the value of a variable is none that could be a secret.
func harmless(value string) bool {
	value = strings.ToLower(strings.Trim(value, `\"'`))
	return value == Removed || reference().MatchString(value) || slices.Contains([]string{
		"", "true", "false", "yes", "no", "on", "off", "null", "nil", "<nil>", "none", "{}", "[]", "0", "(removed", "(secret", "(secret)",
	}, value)
}

// reference matches the name of another variable.
var reference = lazy(`^(?:\$\{?[a-z_][a-z0-9_]*\}?|\{\{[^{}]*\}\})$`)
