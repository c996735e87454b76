package project

import (
	"encoding/json"
	"math"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/taggie/taggie/internal/fault"
	"github.com/taggie/taggie/internal/tag"
)

// parseLine checks a text of one line that has to be there, and returns it without white space around it.
func parseLine(field, what, text string, runes int) (string, error) {
	text, err := parseOptional(field, what, text, runes)
	if err == nil && text == "" {
		return "", fault.Invalidf(field, "%s may not be empty", what)
	}
	return text, err
}

// parseOptional does the same for a text that may be missing.
func parseOptional(field, what, text string, runes int) (string, error) {
	switch text = strings.TrimSpace(text); {
	case !utf8.ValidString(text):
		return "", fault.Invalidf(field, "%s must be valid UTF-8", what)
	case strings.ContainsFunc(text, unicode.IsControl):
		return "", fault.Invalidf(field, "%s may not contain control characters", what)
	case utf8.RuneCountInString(text) > runes:
		return "", fault.Invalidf(field, "%s has at most %d characters", what, runes)
	}
	return text, nil
}

func parseName(field, what, name string) (string, error) {
	return parseLine(field, what, name, MaxNameRunes)
}

// ParseText returns a text of several lines, of any length, without white space around it. Invalid when it is not valid UTF-8, or has
// control characters other than line breaks and tabs; what is its name in the message.
func ParseText(field, what, text string) (string, error) {
	text = strings.TrimSpace(text)
	switch {
	case !utf8.ValidString(text):
		return "", fault.Invalidf(field, "%s must be valid UTF-8", what)
	case strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune("\n\r\t", r) }):
		return "", fault.Invalidf(field, "%s may not contain control characters other than line breaks and tabs", what)
	}
	return text, nil
}

func parseDescription(field, text string) (string, error) {
	text, err := ParseText(field, "a description", text)
	if err == nil && len(text) > MaxDescriptionBytes {
		return "", fault.Invalidf(field, "a description has at most %d bytes", MaxDescriptionBytes)
	}
	return text, err
}

// ParseKeywords returns the keywords in NFKC, each once whatever its case, as it was typed first. Invalid when one is empty, longer
// than [MaxKeywordRunes], not valid UTF-8 or of several lines, or when there are more than most.
func ParseKeywords(field string, values []string, most int) ([]string, error) {
	var keywords []string
	seen := map[string]bool{}
	for _, value := range values {
		// Normalising can make white space and many characters out of one, so it comes before the checks; broken text it
		// leaves as it is.
		word, err := parseLine(field, "a keyword", norm.NFKC.String(value), MaxKeywordRunes)
		if err != nil {
			return nil, err
		}
		key := tag.Fold(word)
		if seen[key] {
			continue
		}
		if len(keywords) == most {
			return nil, fault.Invalidf(field, "give at most %d keywords", most)
		}
		seen[key] = true
		keywords = append(keywords, word)
	}
	return keywords, nil
}

// parseLabels returns the labels of one list, yet without ids.
func parseLabels(project ID, kind Kind, field string, names []string) ([]Label, error) {
	if len(names) > MaxCategories {
		return nil, fault.Invalidf(field, "give at most %d names", MaxCategories)
	}
	labels := make([]Label, 0, len(names))
	seen := map[string]bool{}
	for _, name := range names {
		name, err := parseName(field, "a name", name)
		if err != nil {
			return nil, err
		}
		l := Label{LabelID: LabelID{Project: project, Kind: kind}, Name: name}
		if seen[l.Key()] {
			return nil, fault.Invalidf(field, "%q is there twice", name)
		}
		seen[l.Key()] = true
		labels = append(labels, l)
	}
	return labels, nil
}

// checkExternalID takes the id as it is: what it means is the client's.
func checkExternalID(field, id string) error {
	switch {
	case strings.TrimSpace(id) == "":
		return fault.Invalidf(field, "an external id may not be empty")
	case len(id) > MaxExternalIDBytes:
		return fault.Invalidf(field, "an external id has at most %d bytes", MaxExternalIDBytes)
	case !utf8.ValidString(id):
		return fault.Invalidf(field, "an external id must be valid UTF-8")
	case strings.ContainsFunc(id, unicode.IsControl):
		return fault.Invalidf(field, "an external id may not contain control characters")
	}
	return nil
}

// parseURL accepts what a browser may be sent to: an absolute address of the web, or none.
func parseURL(field, address string) (string, error) {
	address = strings.TrimSpace(address)
	if address == "" {
		return "", nil
	}
	if len(address) > MaxURLBytes {
		return "", fault.Invalidf(field, "a URL has at most %d bytes", MaxURLBytes)
	}
	u, err := url.Parse(address)
	switch {
	case err != nil, !utf8.ValidString(address),
		strings.ContainsFunc(address, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) || r == '\\' }):
		return "", fault.Invalidf(field, "this is not a URL")
	case u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		return "", fault.Invalidf(field, "a URL begins with https:// or http:// and the name of a host")
	case !isHost(u):
		return "", fault.Invalidf(field, "the host of a URL is a name, or an IP address in its usual form")
	}
	if _, err := strconv.ParseUint(u.Port(), 10, 16); err != nil && u.Port() != "" {
		return "", fault.Invalidf(field, "a URL has a port of at most 65535")
	}
	return address, nil
}

// numericHost is the last part of a host that browsers take for an IPv4 address.
var numericHost = regexp.MustCompile(`(^|\.)([0-9]+|0[xX][0-9a-fA-F]*)$`)

// isHost reports whether browsers read the host of a URL. url.Parse takes some that they refuse, see
// https://url.spec.whatwg.org/#host-parsing; what is wrong with a name that is not in ASCII is for them to find.
func isHost(u *url.URL) bool {
	name := norm.NFKC.String(u.Hostname()) // full-width forms become what they stand for
	ip, err := netip.ParseAddr(strings.TrimSuffix(name, "."))
	switch {
	case strings.HasPrefix(u.Host, "["):
		return err == nil && ip.Is6() && ip.Zone() == ""
	case strings.ContainsAny(name, `"#%/:<>?@[\]^|`):
		return false
	}
	return err == nil || !numericHost.MatchString(strings.TrimSuffix(name, "."))
}

// maxMetadataNameBytes is of one name in metadata, nested or not: as many as an attribute of any entity has. DynamoDB refuses
// those above 64 KB, and those that are empty.
const maxMetadataNameBytes = 255

// checkMetadata checks what an import tells about an item besides.
func checkMetadata(field string, metadata map[string]any) error {
	for name := range metadata {
		if strings.HasPrefix(name, "_") {
			return fault.Invalidf(field, "the names in metadata may not begin with an underscore")
		}
	}
	size, err := jsonSize(field, metadata, 0)
	if err == nil && size > MaxMetadataBytes {
		return fault.Invalidf(field, "metadata has at most %d bytes as JSON", MaxMetadataBytes)
	}
	return err
}

// jsonSize returns how long a value is as JSON, without writing it: an import asks this of every line.
func jsonSize(field string, v any, depth int) (int, error) {
	switch v := v.(type) {
	case nil:
		return len("null"), nil
	case bool:
		if v {
			return len("true"), nil
		}
		return len("false"), nil
	case string:
		return textSize(field, v)
	case json.Number:
		return len(v), checkNumber(field, string(v))
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return 0, fault.Invalidf(field, "a number in metadata is none that JSON has")
		}
		n := strconv.FormatFloat(v, 'g', -1, 64)
		return len(n), checkNumber(field, n)
	case []any:
		if depth >= MaxMetadataDepth {
			break
		}
		size := len("[]") + max(0, len(v)-1)
		for _, element := range v {
			n, err := jsonSize(field, element, depth+1)
			if err != nil {
				return 0, err
			}
			size += n
		}
		return size, nil
	case map[string]any:
		if depth >= MaxMetadataDepth {
			break
		}
		size := len("{}") + max(0, len(v)-1)
		for name, element := range v {
			if name == "" || len(name) > maxMetadataNameBytes {
				return 0, fault.Invalidf(field, "a name in metadata has 1 to %d bytes", maxMetadataNameBytes)
			}
			key, err := textSize(field, name)
			if err != nil {
				return 0, err
			}
			n, err := jsonSize(field, element, depth+1)
			if err != nil {
				return 0, err
			}
			size += key + len(":") + n
		}
		return size, nil
	default:
		return 0, fault.Invalidf(field, "a value in metadata is none that JSON has")
	}
	return 0, fault.Invalidf(field, "metadata is nested more than %d levels deep", MaxMetadataDepth)
}

func textSize(field, text string) (int, error) {
	if !utf8.ValidString(text) {
		return 0, fault.Invalidf(field, "metadata must be valid UTF-8")
	}
	size := len(text) + len(`""`)
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"', c == '\\', c == '\n', c == '\r', c == '\t', c == '\b', c == '\f':
			size++
		case c < ' ':
			size += len(`\u0000`) - 1
		}
	}
	return size, nil
}

// checkNumber refuses what a store cannot keep exactly: a number has at most 38 significant digits, and lies between 1e-130
// and 1e126.
func checkNumber(field, n string) error {
	if !json.Valid([]byte(n)) || n == "" || !strings.ContainsAny(n[:1], "-0123456789") {
		return fault.Invalidf(field, "a number in metadata is none that JSON has")
	}
	mantissa, exponent, _ := strings.Cut(strings.ToLower(strings.TrimPrefix(n, "-")), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return nil
	}
	first := len(digits) - 1 - len(fraction) // the exponent of the first significant digit
	if exponent != "" {
		e, err := strconv.ParseInt(exponent, 10, 32)
		if err != nil {
			return fault.Invalidf(field, "a number in metadata is too large or too small")
		}
		first += int(e)
	}
	switch {
	case len(strings.TrimRight(digits, "0")) > 38:
		return fault.Invalidf(field, "a number in metadata has more than 38 significant digits")
	case first < -130 || first > 125:
		return fault.Invalidf(field, "a number in metadata is too large or too small")
	}
	return nil
}
