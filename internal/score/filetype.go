package score

import (
	"github.com/gabriel-vasile/mimetype"

	"github.com/taggie/taggie/internal/fault"
)

// sniffed is how many bytes of a file tell its type.
const sniffed = 3072

// sameTypes are other names for types of images.
var sameTypes = map[string]string{
	"image/jpg": "image/jpeg", "image/pjpeg": "image/jpeg", "image/x-png": "image/png", "image/apng": "image/png", "image/vnd.mozilla.apng": "image/png",
}

func plainType(mediaType string) string {
	if same, ok := sameTypes[mediaType]; ok {
		return same
	}
	return mediaType
}

// typeOf returns the type of a file that begins with the bytes, and was said to be of a type: Invalid when it is an image of
// another type, or no image but said to be one. Of other files the client's word is taken, if there is one: no browser ever shows
// them. So it is of images that nobody looks into, when the bytes are those of none that is shown.
func typeOf(said string, head []byte) (string, error) {
	found := mimetype.Detect(head)
	mediaType := plainType(bare(found.String()))
	said = plainType(said)
	isImage, saidImage := class(mediaType) == "image", class(said) == "image"
	switch {
	case mediaType == said, said == anyBytes, saidImage && found.Is(said):
		return mediaType, nil
	case saidImage && !Harmless(said) && !Harmless(mediaType) && (isImage || mediaType == anyBytes):
		return said, nil
	case saidImage && isImage:
		return "", fault.Invalidf("input.itemId", "the file is not of the type %s: its bytes are those of %s", said, mediaType)
	case saidImage:
		return "", fault.Invalidf("input.itemId", "the file is not of the type %s: its bytes are not those of an image", said)
	case isImage && Thumbs(mediaType):
		return "", fault.Invalidf("input.itemId", "the file is not of the type %s: its bytes are those of %s", said, mediaType)
	}
	return said, nil
}

// anyBytes is the media type of who does not know.
const anyBytes = "application/octet-stream"

func bare(mediaType string) string {
	t, err := parseType(mediaType)
	if err != nil {
		return mediaType
	}
	return t
}

func class(mediaType string) string { return Item{Type: mediaType}.Class() }
