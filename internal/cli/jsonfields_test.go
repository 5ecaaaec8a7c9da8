package cli

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"whichlink/internal/diagnose"
	"whichlink/internal/evidence"
)

// docs/json.md names every field of evidence and of diagnoses.
func TestJSONFieldsAreDocumented(t *testing.T) {
	document, err := os.ReadFile("../../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string]bool{}
	for _, v := range []any{&diagnose.Diagnosis{}, diagnose.Episode{}, diagnose.Episode{Start: time.Unix(1, 0)}} { // those that write themselves
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var written map[string]any
		if err := json.Unmarshal(text, &written); err != nil {
			t.Fatal(err)
		}
		for name := range written {
			fields[name] = true
		}
	}
	var gather func(x reflect.Type)
	gather = func(x reflect.Type) {
		switch x.Kind() {
		case reflect.Pointer, reflect.Slice:
			gather(x.Elem())
		case reflect.Struct:
			for i := range x.NumField() {
				f := x.Field(i)
				if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
					fields[name] = true
				}
				if f.IsExported() {
					gather(f.Type)
				}
			}
		}
	}
	for _, v := range []any{diagnose.Diagnosis{}, localizeStats{}, evidence.Record{}} {
		gather(reflect.TypeOf(v))
	}
	for name := range fields {
		if !strings.Contains(string(document), "`"+name+"`") {
			t.Errorf("docs/json.md does not name the field %s", name)
		}
	}
	if len(fields) < 100 {
		t.Errorf("only %d fields were found", len(fields))
	}
}
