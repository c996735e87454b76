// Package casefold takes the differences of case out of texts that are compared.
//
// It knows Unicode's full case folding and canonical forms. It must not know what is compared: tags have a normal form of their own.
package casefold

import (
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Canonical returns the form by which texts are equal that differ in case or in normal form ("é" as one code point or as two). It is
// Unicode's canonical caseless matching (definition D145), composed again.
func Canonical(text string) string { return norm.NFC.String(String(norm.NFD.String(text))) }

// String returns the text with Unicode's full case folding (CaseFolding.txt, C and F): texts that differ only in case become one.
func String(text string) string { return strings.Map(cherokee, cases.Fold().String(text)) }

// cherokee folds the letters that x/text folds to the respective other case; Unicode folds them to upper case.
func cherokee(r rune) rune {
	switch {
	case r >= 0xAB70 && r <= 0xABBF:
		return r - 0xAB70 + 0x13A0
	case r >= 0x13F8 && r <= 0x13FD:
		return r - 8
	}
	return r
}
