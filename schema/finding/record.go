package finding

// Record is a finding as programs read it.
type Record struct {
	Severity Severity `json:"severity"`
	Object   *Object  `json:"object,omitempty"`
	Field    string   `json:"field,omitempty"`
	File     string   `json:"file,omitempty"`
	Line     int      `json:"line,omitempty"` // from 1
	Column   int      `json:"column,omitempty"`
	Message  string   `json:"message"`
	Rule     string   `json:"rule,omitempty"`
	Current  string   `json:"currentValue,omitempty"`
	Proposed string   `json:"proposedValue,omitempty"`
}

// Object is a Ref as programs read it.
type Object struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name,omitempty"`
}

// Records are findings for programs; never nil.
func Records(fs []Finding) []Record {
	records := make([]Record, len(fs))
	for i, f := range fs {
		records[i] = Record{
			Severity: f.Severity, Field: f.Field, File: f.Pos.File, Line: f.Pos.Line, Column: f.Pos.Column,
			Message: f.Message, Rule: f.Rule, Current: f.Current, Proposed: f.Proposed,
		}
		if f.Object != (Ref{}) {
			object := Object(f.Object)
			records[i].Object = &object
		}
	}
	return records
}
