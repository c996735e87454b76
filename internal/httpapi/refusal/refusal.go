// Package refusal makes the errors of requests that are not carried out, and reads their codes.
package refusal

import (
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/taggie/taggie/graph/model"
)

// Of makes the error of a request that is not carried out.
func Of(code model.ErrorCode, format string, args ...any) *gqlerror.Error {
	err := gqlerror.Errorf(format, args...)
	err.Extensions = map[string]any{"code": string(code)}
	return err
}

// CodeOf returns the code that gqlgen or [Of] gave an error.
func CodeOf(err *gqlerror.Error) model.ErrorCode {
	text, _ := err.Extensions["code"].(string)
	if code := model.ErrorCode(text); code.IsValid() {
		return code
	}
	return ""
}

// HalfCharacter ends the sentence that refuses what encoding/json and gqlparser would silently replace by U+FFFD.
const HalfCharacter = "half of a surrogate pair, which is no character: send both halves or neither"
