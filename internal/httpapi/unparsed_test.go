package httpapi

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/taggie/taggie/internal/httpapi/response"
)

func TestForeignCharactersAreNamed(t *testing.T) {
	s := newServer(t)
	for query, says := range map[string]string{
		`{ näme }`:                         `the character 'ä' (U+00E4) in line 1, column 4: `,
		`{ 名前 }`:                           `the character '名' (U+540D) in line 1, column 3: `,
		"# ü\r\n{ viewer { name\r 😀 } }":   `the character '😀' (U+1F600) in line 3, column 2: `,
		"{\n  a: node(id: \"ü\") { ü }\n}": `the character 'ü' (U+00FC) in line 2, column 22: `,
		"{ viewer\u2028{ name } }":         `the character '\u2028' (U+2028) in line 1, column 9: `,
	} {
		body := string(response.Encode(map[string]string{"query": query}))
		refused := s.post(body, "Accept", mediaResponse).only(t, http.StatusBadRequest, "GRAPHQL_PARSE_FAILED")
		assert.Contains(t, refused.Message, says, query)
	}
	for _, query := range []string{`{ viewer { name } ; }`, `{ viewer { name } } # ü`} {
		a := s.post(string(response.Encode(map[string]string{"query": query})))
		assert.NotContains(t, a.Body.String(), "the character", query)
	}
}
