package caller

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestWhereRequestsComeFrom(t *testing.T) {
	t.Parallel()
	trusted := Proxies{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	const proxy = "10.1.2.3:4711"
	for name, test := range map[string]struct{ peer, forwarded, xff, want string }{
		"IPv4":                    {"192.0.2.77:1", "", "", "192.0.2.0/24"},
		"IPv6":                    {"[2001:db8:1:2ff:3::4]:1", "", "", "2001:db8:1:200::/56"},
		"IPv4 within IPv6":        {"[::ffff:192.0.2.77]:1", "", "", "192.0.2.0/24"},
		"a zone":                  {"[fe80::1%eth0]:1", "", "", "fe80::/56"},
		"no address":              {"@", "", "203.0.113.9", ""},
		"a stranger's word":       {"192.0.2.77:1", "for=203.0.113.9", "203.0.113.9", "192.0.2.0/24"},
		"a proxy without a word":  {proxy, "", "", "10.1.2.0/24"},
		"a proxy within IPv6":     {"[::ffff:10.1.2.3]:1", "", "203.0.113.9", "203.0.113.0/24"},
		"a proxy of IPv6":         {"[fd00::1]:1", "", "203.0.113.9", "203.0.113.0/24"},
		"one proxy":               {proxy, "", "203.0.113.9", "203.0.113.0/24"},
		"made up by the client":   {proxy, "", "198.51.100.1, 203.0.113.9", "203.0.113.0/24"},
		"two proxies":             {proxy, "", "198.51.100.1, 203.0.113.9, 10.9.9.9", "203.0.113.0/24"},
		"a proxy between others":  {proxy, "", "10.8.8.8, 203.0.113.9, 10.9.9.9", "203.0.113.0/24"},
		"nobody but proxies":      {proxy, "", "10.8.8.8,10.9.9.9", "10.8.8.0/24"},
		"several headers":         {proxy, "", "198.51.100.1\n203.0.113.9,\n10.9.9.9", "203.0.113.0/24"},
		"empty elements":          {proxy, "", " ,203.0.113.9 ,, ", "203.0.113.0/24"},
		"a port":                  {proxy, "", "203.0.113.9:8080", "203.0.113.0/24"},
		"bare IPv6":               {proxy, "", "2001:db8::1", "2001:db8::/56"},
		"IPv6 in brackets":        {proxy, "", "[2001:db8::1]", "2001:db8::/56"},
		"IPv6 with a port":        {proxy, "", "[2001:db8::1]:80", "2001:db8::/56"},
		"IPv4 within IPv6 behind": {proxy, "", "::ffff:203.0.113.9", "203.0.113.0/24"},
		"no address behind":       {proxy, "", "203.0.113.9, localhost", "10.1.2.0/24"},
		"unknown behind two":      {proxy, "", "203.0.113.9, unknown, 10.9.9.9", "10.9.9.0/24"},
		"an open bracket":         {proxy, "", "[2001:db8::1", "10.1.2.0/24"},
		"text behind a bracket":   {proxy, "", "[2001:db8::1]80", "10.1.2.0/24"},

		"Forwarded":                   {proxy, "for=203.0.113.9", "", "203.0.113.0/24"},
		"both headers":                {proxy, "for=198.51.100.1", "203.0.113.9", "203.0.113.0/24"},
		"all parameters":              {proxy, `By=10.1.2.3;HOST="a,b;for=1.2.3.4";Proto=https; For="203.0.113.9:80"`, "", "203.0.113.0/24"},
		"IPv6 in quotes":              {proxy, `for="[2001:db8:cafe::17]:4711"`, "", "2001:db8:cafe::/56"},
		"IPv6 without quotes":         {proxy, `for=[2001:db8:cafe::17]`, "", "2001:db8:cafe::/56"},
		"escaped":                     {proxy, `for="203\.0.113.9"`, "", "203.0.113.0/24"},
		"a port that is hidden":       {proxy, `for="203.0.113.9:_port"`, "", "203.0.113.0/24"},
		"several elements":            {proxy, `for=198.51.100.1, for=203.0.113.9;proto=http, , for=10.9.9.9,`, "", "203.0.113.0/24"},
		"several lines":               {proxy, "for=198.51.100.1\nfor=203.0.113.9\nfor=10.9.9.9", "", "203.0.113.0/24"},
		"hidden":                      {proxy, "for=203.0.113.9, for=_hidden, for=10.9.9.9", "", "10.9.9.0/24"},
		"unknown":                     {proxy, "for=203.0.113.9, for=unknown", "", "10.1.2.0/24"},
		"not said":                    {proxy, "for=203.0.113.9, proto=https", "", "10.1.2.0/24"},
		"nothing":                     {proxy, "", "", "10.1.2.0/24"},
		"an open quote of the client": {proxy, `for="198.51.100.1, for=203.0.113.9`, "", "10.1.2.0/24"},
		"a quote across elements":     {proxy, `for=198.51.100.1, for=", for="[2001:db8::1]"`, "", "10.1.2.0/24"},
		"an escape at the end":        {proxy, `for="203.0.113.9\`, "", "10.1.2.0/24"},
		"no value":                    {proxy, "for=", "", "10.1.2.0/24"},
		"no equals sign":              {proxy, "for", "", "10.1.2.0/24"},
		"blanks around the sign":      {proxy, "for = 203.0.113.9", "", "10.1.2.0/24"},
		"no separator":                {proxy, "for=203.0.113.9 by=10.1.2.3", "", "10.1.2.0/24"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.RemoteAddr = test.peer
			for header, lines := range map[string]string{"Forwarded": test.forwarded, "X-Forwarded-For": test.xff} {
				for line := range strings.SplitSeq(lines, "\n") {
					if lines != "" {
						r.Header.Add(header, line)
					}
				}
			}
			assert.Equal(t, test.want, trusted.Network(r))
		})
	}
}

func FuzzForwarded(f *testing.F) {
	for _, seed := range []string{`for="[2001:db8::1]:80";by=x, for=unknown`, `for="\`, ",;=", `a="b,c";for=1.2.3.4`} {
		f.Add(seed)
	}
	proxy := netip.MustParseAddr("10.1.2.3")
	trusted := Proxies{netip.PrefixFrom(proxy, 32)}
	f.Fuzz(func(t *testing.T, text string) {
		h := http.Header{"Forwarded": {text, "for=203.0.113.9"}}
		got := trusted.origin(proxy, h)
		assert.Contains(t, []string{"203.0.113.9", "10.1.2.3"}, got.String(), "what a client writes is behind what a proxy adds, or spoils all of it")
	})
}
