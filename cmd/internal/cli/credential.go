package cli

import (
	"fmt"
	"os"
	"strings"

	"github.com/berth-gpu/berth/cmd/internal/config"
)

// tokenVariables are the environment variables of the token; the first that is set counts.
func tokenVariables() []string { return []string{"BERTH_TOKEN", "RESEARCH_AGENT_USER_AUTH_TOKEN"} }

// TokenOfEnvironment returns the token of the environment; empty: none is set.
func TokenOfEnvironment() string {
	for _, name := range tokenVariables() {
		if token := strings.TrimSpace(os.Getenv(name)); token != "" {
			return token
		}
	}
	return ""
}

// ReadTokenFile reads a token from a file without other content.
func ReadTokenFile(path string) (string, error) {
	data, err := config.ReadPrivate(path)
	if err != nil {
		return "", fmt.Errorf("cannot read the token: %w", err)
	}
	token := strings.TrimSpace(string(data))
	if token == "" || strings.ContainsAny(token, " \n\t") {
		return "", fmt.Errorf("%s does not hold one token and nothing else", path)
	}
	return token, nil
}
