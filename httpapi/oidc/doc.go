// Package oidc verifies what an identity provider (OpenID Connect Core 1.0) states about its accounts, and has users sign in there.
//
//	settings.go  how the provider is reached, and what its groups allow here
//	provider.go  the provider's document and keys (OpenID Connect Discovery 1.0), which are fetched in the background
//	verify.go    tokens of the provider: signature, issuer, audience, times and claims
//	device.go    the sign-in on another device (RFC 8628)
//
// It reads no state: package signin keeps the users of accounts.
package oidc
