// Command dex is the OpenID Connect provider dex (https://dexidp.io), for tests: its server over a storage in memory, with users of its
// own.
//
// It is a module of its own, so that the program under test depends on none of this. The arguments are the address to listen on and
// a file with the users (JSON). The release of dex has no module for its gRPC interface, which its own program needs and tests do not.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/dexidp/dex/server"
	"github.com/dexidp/dex/server/connectors"
	"github.com/dexidp/dex/server/signer"
	"github.com/dexidp/dex/storage"
	"github.com/dexidp/dex/storage/memory"
	"github.com/dexidp/dex/web"
	"golang.org/x/crypto/bcrypt"
)

// user is a user of the provider.
type user struct {
	ID       string   `json:"id"`
	Email    string   `json:"email"`
	Name     string   `json:"name"`
	Password string   `json:"password"`
	Groups   []string `json:"groups"`
}

// deviceCallback is where the provider goes on with a sign-in on another device.
const deviceCallback = "/device/callback"

// idTokenLife is how long the tokens of the provider are valid.
const idTokenLife = 10 * time.Minute

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: dex ADDRESS USERS.json")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "dex:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, address, file string) error {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	passwords, err := passwordsOf(file)
	if err != nil {
		return err
	}
	s := storage.WithStaticPasswords(memory.New(log), passwords, log)
	s = storage.WithStaticClients(s, []storage.Client{
		{ID: "berth", Name: "Berth", Public: true, RedirectURIs: []string{"/dex" + deviceCallback}},
	})
	s = storage.WithStaticConnectors(s, []storage.Connector{{ID: connectors.LocalConnector, Name: "Email", Type: connectors.LocalConnector}})
	signs, err := (&signer.LocalConfig{KeysRotationPeriod: "6h"}).Open(ctx, s, idTokenLife, time.Now, log)
	if err != nil {
		return err
	}
	handler, err := server.NewServer(ctx, server.Config{
		Issuer: "http://" + address + "/dex", Storage: s, SkipApprovalScreen: true, IDTokensValidFor: idTokenLife,
		Web: server.WebConfig{WebFS: web.FS()}, Logger: log, Signer: signs, PasswordConnector: connectors.LocalConnector,
	})
	if err != nil {
		return err
	}
	return (&http.Server{Addr: address, Handler: handler, ReadHeaderTimeout: time.Minute}).ListenAndServe()
}

// passwordsOf reads the users.
func passwordsOf(file string) (out []storage.Password, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var users []user
	if err := json.Unmarshal(text, &users); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, u := range users {
		hash, err := bcrypt.GenerateFromPassword([]byte(u.Password), bcrypt.DefaultCost)
		if err != nil {
			return nil, err
		}
		out = append(out, storage.Password{
			Email: u.Email, Hash: hash, Username: u.Name, PreferredUsername: u.Name, UserID: u.ID, Groups: u.Groups,
		})
	}
	return out, nil
}
