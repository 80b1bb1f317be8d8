// Package redact removes secrets from texts that leave a machine: tokens, keys, passwords, credentials in URLs and in headers. It goes by
// the forms of secrets, by the names of variables, and by secrets that are known to be on this machine.
//
//berth:single
package redact

import (
	"encoding/base64"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Removed stands in the place of a secret.
const Removed = "(removed)"

// leastKnown is the length from which a known secret is looked for, in bytes: a shorter one is a part of many words.
const leastKnown = 6

// Filter removes secrets from texts. The zero Filter goes by forms and names alone.
type Filter struct {
	known []string // with their encodings, the longest first
}

// Know has the filter remove a secret wherever it occurs, also in base64 and in hexadecimal digits. Secrets that are so short that they
// occur by chance are left to the other rules.
func (f *Filter) Know(secrets ...string) {
	for _, s := range secrets {
		if s = strings.TrimSpace(s); len(s) < leastKnown {
			continue
		}
		raw := []byte(s)
		f.known = append(f.known, s, hex.EncodeToString(raw), strings.ToUpper(hex.EncodeToString(raw)))
		for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			f.known = append(f.known, e.EncodeToString(raw))
		}
	}
	slices.SortFunc(f.known, func(a, b string) int { return len(b) - len(a) })
	f.known = slices.Compact(f.known)
}

// lazy returns what compiles an expression when it is first used: berth has this package, and starts for each submission.
func lazy(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// rule replaces what an expression matches.
type rule struct {
	pattern func() *regexp.Regexp
	by      string
}

// rules returns the rules by form, in the order in which they are applied.
var rules = []rule{
	{lazy(`(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----|\z)`), Removed},
	{lazy(`(?i)AGE-SECRET-KEY-[0-9A-Z-]+`), Removed},
	{lazy(`berth-join-[a-z]+-[0-9A-Za-z-]+`), Removed},
	{lazy(wellKnown), Removed},
	{lazy(`whsec_[0-9A-Za-z+/=_-]+`), Removed},
	{lazy(`(?i)((?:proxy-)?authorization|x-auth-token|x-api-key|(?:set-)?cookie)("?\s*[:=]\s*)(?:"(?:[^"\\]|\\.)*"|[^\r\n"]*)`), "$1$2" + Removed},
	{lazy(`(?i)\b(bearer|basic)(\s+)[0-9A-Za-z._~+/=-]{8,}`), "$1$2" + Removed},
	{lazy(`([A-Za-z][A-Za-z0-9+.-]*://)[^/\s"'<>@]*@`), "$1" + Removed + "@"},
}

// wellKnown matches secrets of others that have a form of their own. The list in the tests has an example of each.
const wellKnown = `\b(?:` +
	`eyJ[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]*` + // JWT and JWS, as of OpenID Connect
	`|eyJ[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]*\.[0-9A-Za-z_-]+\.[0-9A-Za-z_-]+\.[0-9A-Za-z_-]+` + // JWE
	`|gh[a-z]_[0-9A-Za-z]{16,}|github_pat_[0-9A-Za-z_]{20,}` +
	`|gl(?:pat|ptt|dt|rt|cbt|oas|agent|soat|ft|imt|ffct|wt)-[0-9A-Za-z_.-]{16,}` + // GitLab
	`|hf_[0-9A-Za-z]{16,}|api_org_[0-9A-Za-z]{16,}` + // Hugging Face
	`|sk-[0-9A-Za-z_-]{16,}` + // OpenAI, Anthropic, OpenRouter, Langfuse
	`|(?:gsk|xai|r8|pplx|nvapi|tgp_v1|fw|csk|lsv2_pt|lsv2_sk|ls__|key_live|dckr_pat|dckr_oat|dop_v1|doo_v1|dor_v1|shpat|shpss|shpca|figd|lin_api|PMAK|rubygems|pscale_tkn|pscale_pw|dp\.pt|dp\.st|CCIPAT|ntn|sntrys|sntryu|glsa|glc|eyJrIjoi|tskey-[a-z]+|sbp|rpa|wandb_v1|akp|ya29\.|1//0)[_-]?[0-9A-Za-z_.-]{20,}` +
	`|(?:AKIA|ASIA|ABIA|ACCA|AGPA|AIDA|AROA|ANPA)[0-9A-Z]{16}` + // AWS
	`|xox[a-z](?:-[0-9A-Za-z]+){1,}|xapp-[0-9A-Za-z-]{10,}` + // Slack
	`|AIza[0-9A-Za-z_-]{30,}|ya29\.[0-9A-Za-z_-]{10,}|GOCSPX-[0-9A-Za-z_-]{20,}` + // Google
	`|npm_[0-9A-Za-z]{30,}|pypi-[0-9A-Za-z_-]{16,}` +
	`|(?:sk|pk|rk)_(?:live|test)_[0-9A-Za-z]{10,}` + // Stripe
	`|SG\.[0-9A-Za-z_-]{16,}\.[0-9A-Za-z_-]{16,}|SK[0-9a-f]{32}|key-[0-9a-f]{32}|[0-9a-f]{32}-us[0-9]{1,2}` + // SendGrid, Twilio, Mailgun, Mailchimp
	`|hv[sbr]\.[0-9A-Za-z_-]{20,}|[0-9A-Za-z]{14}\.atlasv1\.[0-9A-Za-z_-]{20,}` + // Vault, Terraform
	`|AT(?:ATT|CTT)3[0-9A-Za-z_=-]{20,}` + // Atlassian
	`|[0-9A-Za-z_~.-]{3}8Q~[0-9A-Za-z_~.-]{30,}` + // Azure
	`|dapi[0-9a-f]{32}|[0-9]{8,10}:AA[0-9A-Za-z_-]{32,}|[MNO][0-9A-Za-z_-]{23,}\.[0-9A-Za-z_-]{6}\.[0-9A-Za-z_-]{27,}` + // Databricks, Telegram, Discord
	`|K10[0-9a-f]{64}::[0-9A-Za-z:_-]+` + // k3s
	`)`

var (
	token = lazy(`berth_[0-9A-Za-z_-]{40,}`)
	web   = lazy(`(?i)\b(?:https?|wss?)://[^\s"'<>\\)]+`)
	short = lazy(`(\b(?:sshpass|mysql|mysqldump|mariadb|docker login|podman login|skopeo login|helm registry login` +
		`|psql|redis-cli|mongo|mongosh|smbclient|curl|wget|ldapsearch|ipmitool|htpasswd|7z|unzip|zip)\b` +
		`[^\n|;&]*?\s-(?:p|P|w|a)\s*=?\s*)("[^"]*"|'[^']*'|[^\s"'-][^\s"']*)`)
	netrc  = lazy(`(?i)(\blogin\s+\S+\s+password\s+)\S+`)
	pgpass = lazy(`(?m)^((?:[^\s:]+|\[[0-9a-fA-F:]+\]):(?:[0-9]+|\*):[^\s:]+:[^\s:]+:)[^\s:]+$`)
	user   = lazy(`(\b(?:curl|wget)\b[^\n|;&]*?\s(?:-u|--user|--proxy-user|-U)[ =]?)("[^"]*"|'[^']*'|[^\s"']+:[^\s"']+)`)
)

// Text returns a text without secrets. A word in base64 or hexadecimal digits that holds one is removed as a whole.
func (f *Filter) Text(text string) string {
	text = f.plain(text)
	return encoded().ReplaceAllStringFunc(text, func(word string) string {
		for _, inner := range decoded(word) {
			if f.holds(inner) {
				return Removed
			}
		}
		return word
	})
}

// holds reports whether what a word stands for has a secret. The rules by form are for texts; keys in binary are known or not.
func (f *Filter) holds(inner string) bool {
	if slices.ContainsFunc(f.known, func(s string) bool { return strings.Contains(inner, s) }) {
		return true
	}
	odd := 0
	for i := range len(inner) {
		if c := inner[i]; c < ' ' && c != '\n' && c != '\r' && c != '\t' || c > '~' {
			odd++
		}
	}
	return odd <= len(inner)/16+2 && f.plain(inner) != inner // some bytes at its ends may be of another text
}

// encoded matches words that may be texts in base64 or in hexadecimal digits.
var encoded = lazy(`[0-9A-Za-z+/_-]{16,}={0,2}`)

// decoded returns the texts that a word may stand for.
func decoded(word string) (out []string) {
	word = strings.TrimRight(word, "=")
	for skip := range 4 { // a word may begin in the middle of a text
		rest := word[min(skip, len(word)):]
		for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			if inner, err := e.DecodeString(rest[:len(rest)-map[bool]int{true: 1}[len(rest)%4 == 1]]); err == nil {
				out = append(out, string(inner))
			}
		}
	}
	if inner, err := hex.DecodeString(word[:len(word)/2*2]); err == nil {
		out = append(out, string(inner))
	}
	return out
}

// plain returns a text without secrets that are not encoded.
func (f *Filter) plain(text string) string {
	text = web().ReplaceAllStringFunc(text, address)
	for i, r := range rules {
		if i == 1 {
			text = beheaded(text)
		}
		text = r.pattern().ReplaceAllString(text, r.by)
	}
	for _, s := range f.known {
		text = strings.ReplaceAll(text, s, Removed)
	}
	text = token().ReplaceAllStringFunc(text, func(s string) string {
		if strings.ToLower(s) == s && !strings.ContainsAny(s, "0123456789") {
			return s // the name of a metric: 256 random bits have other characters
		}
		return Removed
	})
	text = followed(text, pair(), ofField)
	text = followed(text, assignment(), ofField)
	text = followed(text, element(), ofElement)
	text = short().ReplaceAllString(text, "${1}"+Removed)
	text = user().ReplaceAllString(text, "${1}"+Removed)
	text = netrc().ReplaceAllString(text, "${1}"+Removed)
	text = pgpass().ReplaceAllString(text, "${1}"+Removed)
	return followed(text, option(), ofOption)
}

// keyEnd ends a private key.
var keyEnd = lazy(`-----END [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----`)

// mostKey bounds the length of a private key with what a log has put before each of its lines, in bytes.
const mostKey = 32 << 10

// beheaded returns a text without the rest of a private key whose beginning was cut off, as at the first of the last lines of a log.
func beheaded(text string) string {
	at := keyEnd().FindStringIndex(text)
	if at == nil || at[0] > mostKey {
		return text
	}
	return Removed + text[at[1]:]
}

// Bounds of the parts of a path that are no secret.
const longPart = 20

// address returns a URL without values of its query, its fragment, and parts of its path that look like keys. Of addresses that are
// secrets as a whole, as those of webhooks, the host is left.
func address(url string) string {
	url, _, _ = strings.Cut(url, "#")
	url, query, asks := strings.Cut(url, "?")
	scheme, rest, _ := strings.Cut(url, "://")
	host, path, _ := strings.Cut(rest, "/")
	if at := strings.LastIndex(host, "@"); at >= 0 {
		host = Removed + host[at:]
	}
	parts := strings.Split(path, "/")
	for i, p := range parts {
		if len(p) >= longPart && strings.ContainsAny(p, "0123456789") || strings.Contains(strings.ToLower(host+"/"+path), "hook") && p != "" {
			parts[i] = Removed
		}
	}
	out := scheme + "://" + host
	if path != "" || strings.HasSuffix(rest, "/") {
		out += "/" + strings.Join(parts, "/")
	}
	if asks {
		var values []string
		for v := range strings.SplitSeq(query, "&") {
			name, _, given := strings.Cut(v, "=")
			if given {
				name += "=" + Removed
			} else if len(name) >= longPart {
				name = Removed
			}
			values = append(values, name)
		}
		out += "?" + strings.Join(values, "&")
	}
	return out
}
