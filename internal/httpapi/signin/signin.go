// Package signin finds out who asks, and looks again whether their token still counts.
//
// It knows identities and viewers. It must not know what they ask for, or over what. Start reading at [Service].
package signin

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/viewer"
)

// Authenticator turns the values of the Authorization header into an identity, the zero one when there are none.
// Faults: Unauthenticated for what is no valid token, Unavailable when that cannot be found out.
type Authenticator interface {
	Authenticate(ctx context.Context, authorization []string) (viewer.Identity, error)
}

// Service signs callers in.
type Service struct {
	Auth Authenticator
	// SignIn completes an identity with its user, and says since when it is known that the token counts. It is asked again whenever that is
	// too long ago. Faults: Unauthenticated for a token that was revoked, Unavailable.
	SignIn  func(context.Context, viewer.Identity) (viewer.Viewer, error)
	Timeout time.Duration // of a sign-in, and of each look
	Log     *slog.Logger
}

// Identify finds out who presents these values of the Authorization header, from a network, and logs what kept it from doing so.
func (s Service) Identify(ctx context.Context, authorization []string, network string) (viewer.Viewer, error) {
	bounded, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	identity, err := s.Auth.Authenticate(bounded, authorization)
	if err == nil {
		var v viewer.Viewer
		began := time.Now()
		if v, err = s.SignIn(bounded, identity); err == nil {
			v.Network = network
			if !v.Anonymous() {
				v.Looked = lookedAt(v, began)
			}
			return v, nil
		}
	}
	switch {
	case fault.Is(err, fault.Unauthenticated), errors.Is(err, context.Canceled): // the client's affair
	case fault.Is(err, fault.Unavailable), errors.Is(err, context.DeadlineExceeded):
		s.Log.WarnContext(ctx, "sign-in unavailable", "error", err)
	default:
		s.Log.ErrorContext(ctx, "sign-in failed", "error", err)
	}
	return viewer.Viewer{}, err
}
