package auth

import (
	"strings"

	"github.com/taggie/taggie/internal/fault"
)

// Bearer finds the token in the values of the Authorization header (RFC 6750, section 2.1). Without a value
// there is none, which is no fault; anything else than one well-formed Bearer value is Unauthenticated.
func Bearer(values []string) (token string, found bool, err error) {
	if len(values) == 0 {
		return "", false, nil
	}
	if len(values) > 1 {
		return "", false, fault.New(fault.Unauthenticated, "send one Authorization header, not several")
	}
	scheme, rest, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", false, fault.New(fault.Unauthenticated, "the Authorization header must have the form: Bearer, a blank, the token")
	}
	token = strings.TrimLeft(rest, " ")
	if len(token) > maxToken {
		return "", false, errTooLarge()
	}
	// b64token = 1*( ALPHA / DIGIT / "-" / "." / "_" / "~" / "+" / "/" ) *"="
	body := strings.TrimRight(token, "=")
	if body == "" || strings.ContainsFunc(body, func(r rune) bool { return !tokenRune(r) }) {
		return "", false, fault.New(fault.Unauthenticated, "the Authorization header must have one token after Bearer and nothing else")
	}
	return token, true, nil
}

func tokenRune(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-._~+/", r)
}
