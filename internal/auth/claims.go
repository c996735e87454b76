package auth

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/golang-jwt/jwt/v5"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/viewer"
)

const (
	adminRole  = "admin"
	maxSubject = 255 // OpenID Connect Core 1.0, section 2
	maxEmail   = 254 // RFC 5321, section 4.5.3.1.3, without the brackets
)

// identify reads the identity out of claims that were checked.
func identify(claims jwt.MapClaims) (viewer.Identity, error) {
	subject, _ := claims["sub"].(string)
	if !validSubject(subject) {
		return viewer.Identity{}, fault.New(fault.Unauthenticated,
			"the token must name its subject (sub) in 1 to %d bytes without control characters", maxSubject)
	}
	expires, err := claims.GetExpirationTime()
	if err != nil || expires == nil {
		return viewer.Identity{}, errMalformed(err)
	}
	var issuedAt time.Time
	if issued, err := claims.GetIssuedAt(); err == nil && issued != nil {
		issuedAt = issued.Time
	}
	issuer, _ := claims["iss"].(string)
	email, _ := claims["email"].(string)
	if len(email) > maxEmail {
		email = ""
	}
	return viewer.Identity{
		Issuer:        issuer,
		Subject:       subject,
		Email:         email,
		EmailVerified: email != "" && verified(issuer, claims),
		Admin:         slices.Contains(words(claims["roles"]), adminRole),
		IssuedAt:      issuedAt,
		ExpiresAt:     expires.Time,
	}, nil
}

func validSubject(subject string) bool {
	return subject != "" && len(subject) <= maxSubject && !strings.ContainsFunc(subject, unicode.IsControl)
}

// verified reports whether the issuer vouches for the address. Microsoft Entra has a claim of its own for that, which counts where the standard
// one is missing. It comes as true, or as 1, or as either in text; an issuer of somebody else may let users choose what is in it.
func verified(issuer string, claims jwt.MapClaims) bool {
	if claim, found := claims["email_verified"]; found {
		return truth(claim)
	}
	claim := claims["xms_edov"]
	return isEntra(issuer) && (truth(claim) || fmt.Sprint(claim) == "1")
}

// isEntra reports whether an issuer is Microsoft Entra, of the first or the second version.
func isEntra(issuer string) bool {
	u, err := url.Parse(issuer)
	return err == nil && u.Scheme == "https" && (u.Host == "login.microsoftonline.com" || u.Host == "sts.windows.net")
}

// truth accepts true and "true": some issuers send email_verified as text.
func truth(claim any) bool { return claim == true || claim == "true" }

// words accepts an array of strings, and a string of words as the scope claim has it.
func words(claim any) []string {
	switch claim := claim.(type) {
	case string:
		return strings.Fields(claim)
	case []any:
		var all []string
		for _, item := range claim {
			if word, ok := item.(string); ok {
				all = append(all, word)
			}
		}
		return all
	}
	return nil
}

// accessType reports whether a typ header is that of an ID token or of an access token (RFC 9068). A logout
// token, say, has the same issuer, audience and subject, but logs nobody in.
func accessType(typ any) bool {
	text, _ := typ.(string)
	return slices.Contains([]string{"jwt", "at+jwt", "application/at+jwt"}, strings.ToLower(text))
}
