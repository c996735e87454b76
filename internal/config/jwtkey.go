package config

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
)

// JWTKey is a key that verifies tokens, with the one algorithm it may be used with.
type JWTKey struct {
	Algorithm string // as in a token's alg header: RS256, ES256, EdDSA, HS256, …; never ""
	Key       any    // *rsa.PublicKey, *ecdsa.PublicKey, ed25519.PublicKey, or []byte with HS256, HS384 and HS512
}

// Format writes the algorithm only: with HS256 the key is a secret.
func (k JWTKey) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, k.Algorithm+" "+hidden) }

// LogValue returns the algorithm only.
func (k JWTKey) LogValue() slog.Value { return slog.StringValue(k.Algorithm + " " + hidden) }

// MarshalText returns the algorithm only.
func (k JWTKey) MarshalText() ([]byte, error) { return []byte(k.Algorithm + " " + hidden), nil }

// secretSize holds the least length of an HMAC secret: that of the hash (RFC 7518, section 3.2).
var secretSize = map[string]int{"HS256": 32, "HS384": 48, "HS512": 64}

// UnmarshalText parses [ALGORITHM:]PEM, HS…:base64, or @path of a file that holds one of them.
func (k *JWTKey) UnmarshalText(text []byte) error {
	value := strings.TrimSpace(string(text))
	if path, ok := strings.CutPrefix(value, "@"); ok {
		content, err := os.ReadFile(path)
		if err != nil {
			return expectation("expected a readable file after @")
		}
		value = string(content)
	}
	value = strings.TrimSpace(value)
	algorithm, rest, ok := strings.Cut(value, ":")
	if !ok || strings.HasPrefix(value, "-----") {
		algorithm, rest = "", value
	}
	parsed, err := parseKey(algorithm, rest)
	if err != nil {
		return err
	}
	*k = parsed
	return nil
}

func parseKey(algorithm, text string) (JWTKey, error) {
	if size, ok := secretSize[algorithm]; ok {
		secret, err := decodeBase64(text)
		if err != nil || len(secret) < size {
			return JWTKey{}, expectation(fmt.Sprintf("expected base64 of at least %d bytes after %s:", size, algorithm))
		}
		return JWTKey{Algorithm: algorithm, Key: secret}, nil
	}
	// Many tools keep a variable on one line, with \n in place of the line breaks.
	block, rest := pem.Decode([]byte(strings.ReplaceAll(text, `\n`, "\n")))
	switch {
	case block == nil:
		return JWTKey{}, expectation("expected a PEM public key, HS256: and a base64 secret, or @ and the path of a file with one of them")
	case strings.Contains(block.Type, "PRIVATE KEY"):
		return JWTKey{}, expectation("expected the public key; this is the private one, which does not belong here")
	case strings.TrimSpace(string(rest)) != "":
		return JWTKey{}, expectation("expected one PEM block and nothing after it")
	}
	public, err := x509.ParsePKIXPublicKey(block.Bytes)
	if block.Type == "RSA PUBLIC KEY" {
		public, err = x509.ParsePKCS1PublicKey(block.Bytes)
	}
	if err != nil {
		return JWTKey{}, expectation("expected a PEM block of the type PUBLIC KEY or RSA PUBLIC KEY")
	}
	return fit(algorithm, public)
}

// fit finds the algorithm of a public key, or checks that the one asked for suits it.
func fit(algorithm string, public any) (JWTKey, error) {
	var suited []string // the first is the standard one
	switch key := public.(type) {
	case *rsa.PublicKey:
		if key.N.BitLen() < 2048 { // RFC 7518, section 3.3
			return JWTKey{}, expectation("expected an RSA key of at least 2048 bits")
		}
		suited = []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"}
	case *ecdsa.PublicKey:
		bits := key.Curve.Params().BitSize
		suited = map[int][]string{256: {"ES256"}, 384: {"ES384"}, 521: {"ES512"}}[bits]
	case ed25519.PublicKey:
		suited = []string{"EdDSA"}
	}
	if len(suited) == 0 {
		return JWTKey{}, expectation("expected an RSA, ECDSA (P-256, P-384, P-521) or Ed25519 key")
	}
	if algorithm == "" {
		return JWTKey{Algorithm: suited[0], Key: public}, nil
	}
	for _, name := range suited {
		if name == algorithm {
			return JWTKey{Algorithm: name, Key: public}, nil
		}
	}
	return JWTKey{}, expectation("expected one of " + strings.Join(suited, ", ") + " before this key, or nothing")
}

// decodeBase64 takes the standard and the URL alphabet, padded or not: tools differ in what they print.
func decodeBase64(text string) ([]byte, error) {
	text = strings.TrimRight(strings.TrimSpace(text), "=")
	text = strings.NewReplacer("+", "-", "/", "_").Replace(text)
	return base64.RawURLEncoding.DecodeString(text)
}
