package auth

import (
	"errors"

	"github.com/golang-jwt/jwt/v5"

	"github.com/taggie/taggie/internal/fault"
)

func errTooLarge() error {
	return fault.New(fault.Unauthenticated, "the token is larger than %d bytes: ask its issuer for one with fewer claims", maxToken)
}

func errMalformed(cause error) error {
	return fault.Wrap(fault.Unauthenticated, cause, "the token is not a well-formed JSON Web Token")
}

func errAlgorithm(cause error) error {
	return fault.Wrap(fault.Unauthenticated, cause, "the token is signed with an algorithm that is not accepted here")
}

func errExpired(cause error) error {
	return fault.Wrap(fault.Unauthenticated, cause, "the token has expired")
}

func errIssuer(cause error) error {
	return fault.Wrap(fault.Unauthenticated, cause, "the token comes from an issuer that is not accepted here")
}

// explain turns an error of the token library into the fault that the client sees. When several things are
// wrong, the one that the client can mend comes last: a new token would not help against a wrong audience.
func explain(err error) error {
	if own, ok := errors.AsType[*fault.Error](err); ok {
		return own
	}
	switch {
	case errors.Is(err, jwt.ErrTokenMalformed), errors.Is(err, jwt.ErrInvalidType):
		return errMalformed(err)
	case errors.Is(err, jwt.ErrTokenSignatureInvalid):
		return fault.Wrap(fault.Unauthenticated, err, "the token's signature is not valid")
	case errors.Is(err, jwt.ErrTokenUnverifiable): // no alg, or one that does not exist
		return errAlgorithm(err)
	case errors.Is(err, jwt.ErrTokenRequiredClaimMissing):
		return fault.Wrap(fault.Unauthenticated, err, "the token lacks a claim that is required here: exp, or the configured aud or iss")
	case errors.Is(err, jwt.ErrTokenInvalidIssuer):
		return errIssuer(err)
	case errors.Is(err, jwt.ErrTokenInvalidAudience):
		return fault.Wrap(fault.Unauthenticated, err, "the token was issued for another audience")
	case errors.Is(err, jwt.ErrTokenNotValidYet), errors.Is(err, jwt.ErrTokenUsedBeforeIssued):
		return fault.Wrap(fault.Unauthenticated, err, "the token is not valid yet")
	case errors.Is(err, jwt.ErrTokenExpired):
		return errExpired(err)
	}
	return fault.Wrap(fault.Unauthenticated, err, "the token is not valid")
}
