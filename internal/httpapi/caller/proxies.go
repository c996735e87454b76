package caller

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// A caller without a token is known by the network that it comes from: the blocks that one household or company is given.
const (
	networkBits4 = 24
	networkBits6 = 56
)

// Proxies are the networks whose word is taken for who is behind them.
type Proxies []netip.Prefix

// Network returns the network that a request comes from, such as "192.0.2.0/24": that of the connection, or, as far as proxies of
// ours say so, of whom it was forwarded for. It is "" when nobody can tell.
func (p Proxies) Network(r *http.Request) string {
	peer, ok := parseNode(r.RemoteAddr)
	if !ok {
		return ""
	}
	return networkOf(p.origin(peer, r.Header))
}

// Sent reports whether a request came over one of the proxies.
func (p Proxies) Sent(r *http.Request) bool {
	peer, ok := parseNode(r.RemoteAddr)
	return ok && p.trust(peer)
}

// origin follows the proxies from the connection towards the client, right to left, and stops at the first address that is no proxy
// of ours: what it says of others may be made up. Where an address is hidden or malformed, the proxy that wrote it counts.
//
// With both headers only X-Forwarded-For counts. Most proxies append to that one and pass Forwarded on as it came, so that clients
// could write what they like into it.
func (p Proxies) origin(peer netip.Addr, h http.Header) netip.Addr {
	if !p.trust(peer) {
		return peer
	}
	var nodes []string
	if lines := h.Values("X-Forwarded-For"); len(lines) > 0 {
		nodes = strings.Split(strings.Join(lines, ","), ",")
	} else {
		nodes = forwardedFor(strings.Join(h.Values("Forwarded"), ","))
	}
	for _, node := range slices.Backward(nodes) {
		node = strings.Trim(node, " \t")
		if node == "" { // an empty element of a list means nothing (RFC 9110, section 5.6.1)
			continue
		}
		address, ok := parseNode(node)
		if !ok {
			break
		}
		peer = address
		if !p.trust(peer) {
			break
		}
	}
	return peer
}

func (p Proxies) trust(address netip.Addr) bool {
	return slices.ContainsFunc(p, func(network netip.Prefix) bool { return network.Contains(address) })
}

// networkOf returns the network of an address.
func networkOf(address netip.Addr) string {
	bits := networkBits6
	if address.Is4() {
		bits = networkBits4
	}
	network, _ := address.Prefix(bits) // fails only for more bits than an address has
	return network.String()
}

// parseNode reads an address with or without a port: 192.0.2.1, 192.0.2.1:80, 2001:db8::1, [2001:db8::1], [2001:db8::1]:80. Ports are
// not looked at; RFC 7239 lets proxies write other names in their place. IPv4 within IPv6 becomes IPv4.
func parseNode(text string) (netip.Addr, bool) {
	if rest, bracketed := strings.CutPrefix(text, "["); bracketed {
		inside, port, closed := strings.Cut(rest, "]")
		if !closed || port != "" && !strings.HasPrefix(port, ":") {
			return netip.Addr{}, false
		}
		text = inside
	} else if strings.Count(text, ":") == 1 {
		text, _, _ = strings.Cut(text, ":")
	}
	address, err := netip.ParseAddr(text)
	return address.Unmap().WithZone(""), err == nil
}

// forwardedFor returns what the elements of the header Forwarded (RFC 7239) have in "for", in their order: "unknown" where there is no such
// parameter. From where the header is malformed nothing can be told apart any more, so that all of it is one unknown.
func forwardedFor(text string) []string {
	var nodes []string
	unknown := []string{"unknown"}
	for rest := text; ; {
		node, found, behind, ok := forwardedElement(rest)
		if !ok {
			return unknown
		}
		if found {
			nodes = append(nodes, node)
		}
		if behind == "" {
			return nodes
		}
		rest = behind[1:] // the comma
	}
}

// forwardedElement reads one element, up to the comma behind it or the end. It is not found when the element is empty.
func forwardedElement(text string) (node string, found bool, rest string, ok bool) {
	node, rest = "unknown", text
	for {
		rest = strings.TrimLeft(rest, " \t")
		n := 0
		for n < len(rest) && isToken(rest[n]) {
			n++
		}
		if name := rest[:n]; n > 0 {
			value, behind, ok := forwardedValue(rest[n:])
			if !ok {
				return "", false, "", false
			}
			if strings.EqualFold(name, "for") {
				node = value
			}
			found, rest = true, strings.TrimLeft(behind, " \t")
		}
		if rest == "" || rest[0] == ',' {
			return node, found, rest, true
		}
		if rest[0] != ';' {
			return "", false, "", false
		}
		rest = rest[1:]
	}
}

// forwardedValue reads "=" and the token or quoted string behind it. Addresses of IPv6 without quotes are read as well: some proxies write them.
func forwardedValue(text string) (value, rest string, ok bool) {
	text, ok = strings.CutPrefix(text, "=")
	if !ok {
		return "", "", false
	}
	if !strings.HasPrefix(text, `"`) {
		n := 0
		for n < len(text) && (isToken(text[n]) || strings.IndexByte("[]:", text[n]) >= 0) {
			n++
		}
		return text[:n], text[n:], n > 0
	}
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '"':
			return b.String(), text[i+1:], true
		case '\\':
			if i++; i == len(text) {
				return "", "", false
			}
		}
		b.WriteByte(text[i])
	}
	return "", "", false
}

// isToken reports whether a character may stand in a token (RFC 9110, section 5.6.2).
func isToken(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}
