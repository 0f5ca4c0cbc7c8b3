// Package lua runs health checks with the Lua of Argo CD. It is a module of its own
// because the tables (test/checks) and the engine (test/engines/argocd) both need
// it, and cannot agree on their other dependencies.
package lua

import (
	"context"
	"fmt"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// timeout ends a health check that does not end by itself. Argo CD gives it a second of the clock, and a busy
// machine may stop us for longer in the milliseconds that a check takes.
const timeout = time.Minute

// Health runs a script as Argo CD does: the object is the global obj, of the
// libraries there are those that Argo CD opens for a script of one's own, and the
// script returns a table of status (Healthy, Progressing, Degraded or Suspended) and
// message. What else it returns is an error.
func Health(script string, object map[string]any) (status, message string, err error) {
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for _, library := range []struct {
		name string
		open lua.LGFunction
	}{
		{lua.LoadLibName, lua.OpenPackage}, // the others need it
		{lua.BaseLibName, lua.OpenBase}, {lua.TabLibName, lua.OpenTable}, {lua.OsLibName, lua.OpenOs},
	} {
		if err := state.CallByParam(lua.P{Fn: state.NewFunction(library.open), Protect: true}, lua.LString(library.name)); err != nil {
			return "", "", err
		}
	}
	// Of os there are the time and the date.
	safe, system := state.NewTable(), state.GetGlobal(lua.OsLibName)
	for _, name := range []string{"time", "date"} {
		safe.RawSetString(name, state.GetField(system, name))
	}
	state.SetGlobal(lua.OsLibName, safe)
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	state.SetContext(ctx)
	state.SetGlobal("obj", value(state, object))
	if err := state.DoString(script); err != nil {
		return "", "", err
	}
	result, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		return "", "", fmt.Errorf("a table is wanted, not %s", state.Get(-1).Type())
	}
	text, ok := result.RawGetString("message").(lua.LString)
	if !ok {
		return "", "", fmt.Errorf("the message is %s", result.RawGetString("message").Type())
	}
	switch status := result.RawGetString("status").String(); status {
	case "Healthy", "Progressing", "Degraded", "Suspended":
		return status, string(text), nil
	default:
		return "", "", fmt.Errorf("the status is %q", status)
	}
}

// value makes JSON into what Lua sees of it; null is nothing there.
func value(state *lua.LState, v any) lua.LValue {
	switch v := v.(type) {
	case bool:
		return lua.LBool(v)
	case string:
		return lua.LString(v)
	case float64:
		return lua.LNumber(v)
	case int64:
		return lua.LNumber(v)
	case []any:
		table := state.CreateTable(len(v), 0)
		for _, item := range v {
			table.Append(value(state, item))
		}
		return table
	case map[string]any:
		table := state.CreateTable(0, len(v))
		for key, item := range v {
			table.RawSetString(key, value(state, item))
		}
		return table
	}
	return lua.LNil
}
