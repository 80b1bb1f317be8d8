// Package oidc verifies what an identity provider (OpenID Connect Core 1.0) states about its accounts, and has users sign in there.
//
// It reads no state: package signin keeps the users of accounts.
package oidc
