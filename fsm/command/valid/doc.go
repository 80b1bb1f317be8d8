// Package valid checks the parts of commands: each function returns nil, or an error that names the field and what
// the field must be.
//
//berth:pure
package valid
