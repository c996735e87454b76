package keys

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// PublicTitlesPK is PUBLIC:<character>: where public scores are whose folded title begins with this character; "" for a title without any.
func PublicTitlesPK(folded string) string {
	_, n := utf8.DecodeRuneInString(folded)
	if n == 0 {
		return ""
	}
	return "PUBLIC:" + folded[:n]
}

// PublicTitleSK is <text>, a tab, and <owner><score>: the place of a public score among those that begin with the same character. Titles have no control
// characters, so that the order is that of the texts. Of a long title only the beginning is in it, as [FoundText] has it.
func PublicTitleSK(folded, owner, score string) string {
	return FoundText(folded) + orderSeparator + EncodeUUID(owner) + EncodeUUID(score)
}

// PublicTitleOf reads the owner and the score from what [PublicTitleSK] wrote.
func PublicTitleOf(sk string) (owner, score string, err error) {
	at := strings.LastIndex(sk, orderSeparator)
	if at < 0 {
		return "", "", fmt.Errorf("%q is not the place of a public score", sk)
	}
	ids, err := SplitIDs(sk[at+len(orderSeparator):], "", 2)
	if err != nil {
		return "", "", err
	}
	return ids[0], ids[1], nil
}
