package project

// ImportID identifies an import, where it has to be told from an export.
type ImportID struct{ TransferID }

// ExportID identifies an export, where it has to be told from an import.
type ExportID struct{ TransferID }

// GlobalID returns the id by which the import can be asked for again.
func (i Import) GlobalID() ImportID { return ImportID{i.TransferID} }

// GlobalID returns the id by which the export can be asked for again.
func (e Export) GlobalID() ExportID { return ExportID{e.TransferID} }

// RemovalID identifies a removal.
type RemovalID struct{ TransferID }

// GlobalID returns the id by which the removal can be asked for again.
func (r Removal) GlobalID() RemovalID { return RemovalID{r.TransferID} }
