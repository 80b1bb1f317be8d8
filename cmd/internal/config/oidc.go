package config

import "time"

// OIDC holds the settings of the identity provider (OpenID Connect) at which users sign in.
type OIDC struct {
	Issuer     string // URL; empty: there is none
	ClientID   string
	Secret     string // file with the client's secret; empty: a public client
	Audience   string // empty: the client id
	Scopes     []string
	UserClaim  string
	GroupClaim string
	CA         string // file; empty: the authorities of the machine
	TokenLife  time.Duration
	Groups     string // file of what groups allow; empty: none
	Own        string // the content of such a file, see [Part]; not with Groups
}

// defaultOIDC returns the values of the settings that are not given.
func defaultOIDC() OIDC {
	return OIDC{Scopes: []string{"openid", "profile", "email", "groups"}, UserClaim: "preferred_username", GroupClaim: "groups", TokenLife: 12 * time.Hour}
}

func (o *OIDC) settings() []Setting {
	rows := []Setting{
		{
			Name: "oidc.issuer", Means: "`URL` of the identity provider (OpenID Connect) at which users sign in, as its tokens name it (iss); https, or http on a loopback address; empty: none; the same at all peers, as all of oidc",
			Value: Text(&o.Issuer, "URL"),
		},
		{
			Name: "oidc.client_id", Means: "`id` of the cluster as a client of the provider", Value: Text(&o.ClientID, "id"),
		},
		{
			Name: "oidc.client_secret_file", File: true, Means: "`file` with the secret of the client; empty: a public client, which has none",
			Value: Text(&o.Secret, "file"),
		},
		{
			Name: "oidc.audience", Means: "`audience` that a token of the provider must name (aud) (default: oidc.client_id)", Value: Text(&o.Audience, "audience"),
		},
		{
			Name: "oidc.scopes", Means: "`scopes` that a sign-in asks for; openid must be among them", Value: List(&o.Scopes, "scopes"),
		},
		{
			Name: "oidc.user_claim", Means: "`claim` with the name of the user", Value: Text(&o.UserClaim, "claim"),
		},
		{
			Name: "oidc.groups_claim", Means: "`claim` with the groups of the user", Value: Text(&o.GroupClaim, "claim"),
		},
		{
			Name: "oidc.ca", File: true, Means: "`file` with the certificates of the provider's authority (PEM) (default: those of the machine)", Value: Text(&o.CA, "file"),
		},
		{
			Name: "oidc.token_life", Means: "`time` for which the token is valid that a sign-in makes, and for which a group that was lost at the provider may still count",
			Value: Span(&o.TokenLife, time.Minute, 90*24*time.Hour, false),
		},
		{
			Name: "oidc.groups_file", File: true, Means: "`file` of what the groups of the provider allow (YAML: GROUP: {role: ROLE, projects: [NAME, ...]})", Value: Text(&o.Groups, "file"),
		},
		{
			Name: "oidc.groups", Means: "the same itself, GROUP: ROLE or GROUP: {role: ROLE, projects: [NAME, ...]}, instead of its file", Value: Part(&o.Own),
		},
	}
	for i := range rows {
		rows[i].For, rows[i].Reload = OfServer, true
	}
	return rows
}
