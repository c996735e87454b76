package keys

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// ItemNamesPK is <project>:<character>: where the items of a project are whose folded names begin with this character; "" for a name without any.
func ItemNamesPK(project, folded string) string {
	_, n := utf8.DecodeRuneInString(folded)
	if n == 0 {
		return ""
	}
	return join(project, folded[:n])
}

// ItemNameSK is <name>, a tab, and <item>: the place of an item among those whose names begin with the same character. Names have no control characters,
// so that the order is that of the names. Of a long name only the beginning is in it, as [FoundText] has it.
func ItemNameSK(folded, item string) string { return FoundText(folded) + orderSeparator + escape(item) }

// ItemNamesRange returns the sort keys between which all places of names lie that begin with a text, and no others. It ends at the text that follows all
// of them: no place is spelled so, because each has a tab.
func ItemNamesRange(folded string) (low, high string) {
	low = FoundText(folded)
	for high = low; high != ""; {
		last, n := utf8.DecodeLastRuneInString(high)
		switch high = high[:len(high)-n]; last {
		case utf8.MaxRune: // nothing follows it here
		case beforeSurrogates:
			return low, high + string(afterSurrogates)
		default:
			return low, high + string(last+1)
		}
	}
	return low, ""
}

// Between these there are no characters.
const beforeSurrogates, afterSurrogates = '\uD7FF', '\uE000'

// ItemNameOf reads the item from what [ItemNameSK] wrote.
func ItemNameOf(sk string) (item string, err error) {
	at := strings.LastIndex(sk, orderSeparator)
	if at < 0 {
		return "", fmt.Errorf("%q is not the place of an item", sk)
	}
	return unescape(sk[at+len(orderSeparator):]), nil
}
