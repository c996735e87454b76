package config

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
)

const hidden = "[secret]"

// Secret is text that no log and no format verb shows; string(s) is what it holds.
type Secret string

// Format writes a placeholder, whatever the verb.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, hidden) }

// LogValue returns a placeholder.
func (Secret) LogValue() slog.Value { return slog.StringValue(hidden) }

// MarshalText returns a placeholder.
func (Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// UnmarshalText takes a secret of at least 32 characters as it is written: decoding would leave open which of
// several spellings two servers share.
func (s *Secret) UnmarshalText(text []byte) error {
	if len(text) < 32 || strings.ContainsAny(string(text), " \t\r\n") {
		return expectation("expected one secret, or current,previous, each of at least 32 characters without blanks, for example from: openssl rand -base64 32")
	}
	*s = Secret(text)
	return nil
}

// ClientSecret is a secret that an issuer has chosen, and so of any length.
type ClientSecret struct{ Secret }

// UnmarshalText takes the secret as it is written.
func (s *ClientSecret) UnmarshalText(text []byte) error {
	if strings.ContainsAny(string(text), " \t\r\n") {
		return expectation("expected the secret of the client as the issuer shows it, without blanks")
	}
	s.Secret = Secret(text)
	return nil
}
