// Command taggie is the Taggie server and the tools to run it.
package main

import "github.com/taggie/taggie/internal/cli"

// version is set by the linker.
var version string

func main() { cli.Main(version) }
