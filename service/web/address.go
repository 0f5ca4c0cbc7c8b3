package web

// AddressError is an address at which a server must not listen.
type AddressError struct{ Msg string }

func (e *AddressError) Error() string { return e.Msg }
