package dryrun

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/live/cluster"
	"github.com/poolwright/poolwright/schema/finding"
)

func statusOf(err error) (metav1.Status, bool) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return metav1.Status{}, false
	}
	return status.Status(), true
}

// isAbsent reports whether an object, its kind in this version or its namespace
// is not there.
func isAbsent(err error) bool { return apierrors.IsNotFound(err) }

func isMissingNamespace(err error) bool {
	s, _ := statusOf(err)
	return isAbsent(err) && s.Details != nil && s.Details.Kind == "namespaces"
}

// isMissingVersion: an apply makes what is not there, so nothing else can be
// missing.
func isMissingVersion(err error) bool { return isAbsent(err) && !isMissingNamespace(err) }

// withRole adds to a missing permission to read what will be missing next.
func withRole(err error) error {
	if !cluster.IsDenied(err) {
		return err
	}
	return fmt.Errorf("%w; and for its role poolwright-plan: a dry run needs it", err)
}

// isRefusal reports whether the API server understood and said no: validation,
// admission, or a webhook that failed.
func isRefusal(err error) bool {
	s, ok := statusOf(err)
	if !ok || cluster.IsDenied(err) {
		return false
	}
	switch s.Code {
	case http.StatusBadRequest, http.StatusForbidden, http.StatusConflict, http.StatusUnprocessableEntity, http.StatusRequestEntityTooLarge:
		return true
	}
	return strings.Contains(s.Message, "webhook") || strings.HasPrefix(s.Message, untyped)
}

// untyped is how the answer begins where fields are not in the definition; they
// follow, one a line. It comes as an internal error.
const untyped = "failed to create typed patch object"

// refusals turns a refusal into findings, one for each field that it names.
func refusals(w *krm.Object, err error) []finding.Finding {
	s, _ := statusOf(err)
	var fs []finding.Finding
	refuse := func(field, message string) {
		// Some messages go on with a dump of the object.
		message, _, _ = strings.Cut(strings.TrimSpace(message), "\n")
		fs = append(fs, finding.Finding{
			Severity: finding.Error, Rule: "refused", Object: w.Ref, Field: field, Pos: w.At(strings.Split(field, ".")...),
			Message: "the API server refuses it: " + strings.TrimRight(message, " :"),
		})
	}
	if s.Details != nil {
		for _, cause := range s.Details.Causes {
			refuse(strings.TrimPrefix(cause.Field, "."), cause.Message)
		}
	}
	if strings.HasPrefix(s.Message, untyped) {
		for line := range strings.Lines(s.Message) {
			if field, message, found := strings.Cut(strings.TrimSpace(line), ": "); found && strings.HasPrefix(field, ".") {
				refuse(field[1:], message)
			}
		}
	}
	if len(fs) == 0 {
		refuse("", s.Message)
	}
	return fs
}
