// Package view converts the state to the API's answers. All functions are pure: they read one state
// and write nothing.
//
//berth:pure
package view
