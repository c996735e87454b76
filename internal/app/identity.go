package app

import (
	"context"
	"time"

	"github.com/taggie/taggie/internal/auth"
	"github.com/taggie/taggie/internal/config"
	"github.com/taggie/taggie/internal/demo"
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
	return nil
}

// session is what pages of the embedded server are signed in with.
func (a *Application) session(context.Context) (httpapi.Session, error) {
	const ttl = 12 * time.Hour
	token, err := a.Local.Mint(Person(demo.Email, demo.Name, "", false), ttl)
	return httpapi.Session{Token: token, User: httpapi.SessionUser{Email: demo.Email, Name: demo.Name}, ExpiresAt: time.Now().Add(ttl)}, err
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
