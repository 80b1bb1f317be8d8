package model

// Accounts is the choice of unix accounts under which a node runs jobs.
type Accounts uint8

// The ways to run jobs.
const (
	AccountsShared Accounts = 0 // jobs of all users, under the account of its agent
	AccountsUsers  Accounts = 1 // jobs of all users, each under an account of its user
	AccountsOwn    Accounts = 2 // jobs of one user only, the one with the name of its agent's account
)

// Valid reports whether a is one of the three ways.
func (a Accounts) Valid() bool { return a <= AccountsOwn }

// String returns the name of the way in the API.
func (a Accounts) String() string { return name(a, "shared", "users", "own") }

// Stranger stands for all users without an agent's account of the same name. No user has this name.
const Stranger = " "

// Admits reports whether the node runs jobs of a user; for the user "" it runs any.
func (n *Node) Admits(user string) bool {
	return n.Accounts != AccountsOwn || user == "" || n.Account == user
}
