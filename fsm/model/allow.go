package model

import (
	"fmt"
	"net/netip"
	"strings"
)

// SplitAllow parses the list of receivers to which webhooks may go: hosts, *.domain, addresses and networks.
func SplitAllow(text string) (out []string) {
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.ToLower(strings.TrimSpace(part)); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// CheckAllow returns an error for an entry of such a list that cannot be parsed.
func CheckAllow(text string) error {
	for _, part := range SplitAllow(text) {
		if strings.Contains(part, "/") {
			if _, err := netip.ParsePrefix(part); err != nil {
				return fmt.Errorf("%q is no network such as 10.0.0.0/8", part)
			}
			continue
		}
		if _, notIP := netip.ParseAddr(part); notIP == nil {
			continue
		}
		if host := strings.TrimPrefix(part, "*."); host == "" || strings.ContainsAny(host, "*: ") {
			return fmt.Errorf("%q is no host, no *.domain and no network such as 10.0.0.0/8", part)
		}
	}
	return nil
}
