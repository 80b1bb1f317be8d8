// Package limits carries out the commands on limits, and checks what work may take: limits, quotas, pools and what
// bookings leave.
//
//berth:pure
package limits
