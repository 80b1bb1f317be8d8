// Package bookings carries out the commands on reservations and maintenances.
//
//berth:pure
package bookings
