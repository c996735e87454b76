package connection_test

import (
	"fmt"

	"github.com/taggie/taggie/internal/httpapi/connection"
	"github.com/taggie/taggie/internal/viewer"
)

func ExampleRegistry_Admit() {
	open := connection.NewRegistry(connection.Bounds{PerUser: 1})
	ada := connection.OwnerOf(viewer.Viewer{Identity: viewer.Identity{Issuer: "https://issuer.example", Subject: "ada"}})
	fmt.Println(open.Admit(ada), open.Admit(ada))
	open.Dismiss(ada)
	fmt.Println(open.Admit(ada))
	// Output:
	// true false
	// true
}
