package source

import (
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/poolwright/poolwright/nodeagent/facts"
)

// Attach attaches the sparse files of all complete objects after a boot, which removes loop devices. It reads the journal,
// needs no API server, and changes nothing else, neither on a disk nor in the journal. The caller holds the lock of the
// agent. Attach returns a line for each attached file, and an error for the others.
func (e *Engine) Attach() ([]string, error) {
	entries, unread := e.Runner.Journal.All()
	failures := []error{unread}
	now, err := facts.Read(e.Host)
	if err != nil {
		return nil, err
	}
	var attached []sparseFile
	for _, entry := range entries {
		if !entry.Made || entry.Released || uuid.Validate(entry.UUID) != nil {
			continue
		}
		file := (&job{Engine: e, object: entry.Object, entry: entry, facts: now}).sparse([]string{entry.UUID})
		steps, err := file.attachOld()
		if err == nil && len(steps) > 0 {
			if err = attachLoop(e.Host.Path("/dev"), file.path); err == nil {
				attached = append(attached, file)
			}
		}
		if err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", entry.Object, err))
		}
	}
	lines, err := e.attachments(attached)
	return lines, errors.Join(append(failures, err)...)
}

// attachments checks that each file has exactly one loop device.
func (e *Engine) attachments(files []sparseFile) ([]string, error) {
	now, err := facts.Read(e.Host)
	if err != nil {
		return nil, err
	}
	var lines []string
	var failures []error
	for _, file := range files {
		file.job = &job{Engine: e, object: file.object, facts: now}
		switch loop, err := file.loop(); {
		case err != nil:
			failures = append(failures, fmt.Errorf("%s: %w", file.object, err))
		case loop == nil:
			failures = append(failures, fmt.Errorf("%s: no loop device is over %s", file.object, file.path))
		default:
			lines = append(lines, fmt.Sprintf("%s: %s is over %s", file.object, loop.Path, file.path))
		}
	}
	return lines, errors.Join(failures...)
}
