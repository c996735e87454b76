package app

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/taggie/taggie/internal/auth"
	"github.com/taggie/taggie/internal/config"
	"github.com/taggie/taggie/internal/demo"
	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/httpapi"
)

// identify chooses who vouches for identities.
func (a *Application) identify(o *httpapi.Options) error {
	switch cfg := a.Cfg; {
	case cfg.LocalIssuer():
		local, err := LocalIssuer(cfg)
		if err != nil {
			return err
		}
		a.Local, o.Auth, o.Session = local, local, a.session
	case len(cfg.JWTKeys) > 0:
		known := auth.Static{Issuer: cfg.OIDCIssuer, Audiences: cfg.OIDCAudience}
		for _, k := range cfg.JWTKeys {
			known.Keys = append(known.Keys, auth.StaticKey{Algorithm: k.Algorithm, Key: k.Key})
		}
		static, err := auth.NewStatic(known, a.Stores.Clock.Agreed)
		if err != nil {
			return err
		}
		o.Auth = static
	default:
		oidc := auth.NewOIDC(auth.Issuer{URL: cfg.OIDCIssuer, Audiences: cfg.OIDCAudience, Log: a.Log}, a.Stores.Clock.Agreed)
		o.Auth = oidc
		o.Ready = append(o.Ready, httpapi.Check{Name: "issuer", Check: oidc.Ready})
	}
	if cfg := a.Cfg; cfg.OIDCClientID != "" {
		o.Issuer = auth.NewClient(auth.ClientOptions{
			Issuer: cfg.OIDCIssuer, ID: cfg.OIDCClientID, Secret: string(cfg.OIDCClientSecret.Secret), Scopes: cfg.OIDCScopes, Audiences: cfg.OIDCAudience, Log: a.Log,
		}, a.Stores.Clock.Agreed)
	}
	return nil
}

// session is what pages of the embedded server are signed in with: as the demo user, or as somebody else of the demo data.
func (a *Application) session(_ context.Context, email string) (httpapi.Session, error) {
	const ttl = 12 * time.Hour
	var people []httpapi.SessionUser
	for _, p := range demo.People() {
		people = append(people, httpapi.SessionUser{Email: p.Email, Name: p.Name})
	}
	i := slices.IndexFunc(people, func(p httpapi.SessionUser) bool { return p.Email == cmp.Or(email, demo.Email) })
	if i < 0 {
		return httpapi.Session{}, fault.New(fault.NotFound, "the demo data has nobody with this address")
	}
	user := people[i]
	token, err := a.Local.Mint(Person(user.Email, user.Name, "", false), ttl)
	return httpapi.Session{Token: token, User: user, ExpiresAt: time.Now().Add(ttl), People: people}, err
}

// Person is somebody for whom the embedded issuer vouches.
func Person(email, name, subject string, admin bool) auth.Person {
	return auth.Person{Email: email, Name: name, Subject: subject, Admin: admin}
}

// LocalIssuer returns the embedded issuer. It makes the secret of the data directory if there is none.
func LocalIssuer(cfg config.Config) (*auth.Local, error) {
	secret, err := LocalSecret(cfg.Data)
	if err != nil {
		return nil, err
	}
	return auth.NewLocal(secret, time.Now)
}

// sharedSecrets are what all servers sign cursors and make tokens of invitations with, the current one first.
func sharedSecrets(cfg config.Config) ([][]byte, error) {
	var secrets [][]byte
	for _, secret := range cfg.Secrets {
		secrets = append(secrets, []byte(secret))
	}
	if len(secrets) > 0 {
		return secrets, nil
	}
	secret, err := LocalSecret(cfg.Data)
	return [][]byte{secret}, err
}
