package keys

// UploadPrefix begins the sort keys of uploads, in the partition of their owner's items.
const UploadPrefix = "upload:"

// UploadSK is upload:<score><item>: a file that may come, or whose bytes are being removed.
func UploadSK(score, item string) string { return UploadPrefix + ItemSK(score, item) }
