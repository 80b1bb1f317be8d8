// Package digest is what peers compare to see that they have the same state: a chain over every entry and a sum
// over the rows of each table. The package also holds the encoding of rows, since a digest is one of encoded rows.
//
//berth:pure
package digest
