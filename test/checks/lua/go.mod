// The Lua of Argo CD, for the tests that need it and nothing else.
module github.com/poolwright/poolwright/test/checks/lua

go 1.26.0

require github.com/yuin/gopher-lua v1.1.2
