// Package bookings carries out the commands on reservations and maintenances.
package bookings
