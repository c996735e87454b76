package main

import (
	"context"
	"time"

	"github.com/taggie/taggie/internal/auth"
	"github.com/taggie/taggie/internal/config"
	"github.com/taggie/taggie/internal/demo"
	"github.com/taggie/taggie/internal/httpapi"
)

// identify chooses who vouches for identities.
func (a *application) identify(o *httpapi.Options) error {
	switch cfg := a.cfg; {
	case cfg.LocalIssuer():
		local, err := localIssuer(cfg)
		if err != nil {
			return err
		}
		a.local, o.Auth, o.Session = local, local, a.session
	case cfg.JWTKey.Algorithm != "":
		static, err := auth.NewStatic(auth.StaticKey{Algorithm: cfg.JWTKey.Algorithm, Key: cfg.JWTKey.Key, Issuer: cfg.OIDCIssuer, Audiences: cfg.OIDCAudience}, a.stores.clock.Now)
		if err != nil {
			return err
		}
		o.Auth = static
	default:
		oidc := auth.NewOIDC(auth.Issuer{URL: cfg.OIDCIssuer, Audiences: cfg.OIDCAudience, Log: a.log}, a.stores.clock.Now)
		o.Auth = oidc
		o.Ready = append(o.Ready, httpapi.Check{Name: "issuer", Check: oidc.Ready})
	}
	return nil
}

// session is what pages of the embedded server are signed in with.
func (a *application) session(context.Context) (httpapi.Session, error) {
	const ttl = 12 * time.Hour
	token, err := a.local.Mint(person(demo.Email, demo.Name, "", false), ttl)
	return httpapi.Session{Token: token, User: httpapi.SessionUser{Email: demo.Email, Name: demo.Name}, ExpiresAt: time.Now().Add(ttl)}, err
}

func person(email, name, subject string, admin bool) auth.Person {
	return auth.Person{Email: email, Name: name, Subject: subject, Admin: admin}
}

func localIssuer(cfg config.Config) (*auth.Local, error) {
	secret, err := localSecret(cfg.Data)
	if err != nil {
		return nil, err
	}
	return auth.NewLocal(secret, time.Now)
}

func cursorSecrets(cfg config.Config) ([][]byte, error) {
	var secrets [][]byte
	for _, secret := range cfg.Secrets {
		secrets = append(secrets, []byte(secret))
	}
	if len(secrets) > 0 {
		return secrets, nil
	}
	secret, err := localSecret(cfg.Data)
	return [][]byte{secret}, err
}
