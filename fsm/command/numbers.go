package command

// Kind is the number of a kind of command. Numbers are for ever: they are in logs.
type Kind uint16

// The kinds, grouped by sender.
const (
	// The cluster about itself.
	KindBootstrap    Kind = 1
	KindRestored     Kind = 2
	KindResume       Kind = 3
	KindAdvanceClock Kind = 4
	KindRaiseLevel   Kind = 5
	KindSetRunning   Kind = 6
	KindSetPolicy    Kind = 7
	KindSetRetention Kind = 8
	KindSetLimit     Kind = 9
	KindSetPeer      Kind = 10
	KindDropPeer     Kind = 11
	KindCutRequests  Kind = 12
	KindRetire       Kind = 13
	KindSetTuning    Kind = 14
	KindSetWeight    Kind = 15
	KindAdjustLimit  Kind = 16
	KindSetPools     Kind = 17
	KindAdjustPolicy Kind = 18
	KindLockRestart  Kind = 19

	// Users and operators about jobs.
	KindSubmit      Kind = 20
	KindCancel      Kind = 21
	KindSetPriority Kind = 22
	KindHold        Kind = 23
	KindRelease     Kind = 24
	KindRequeue     Kind = 25
	KindExtend      Kind = 26
	KindPurge       Kind = 27

	// The effects of dependencies and deadlines.
	KindSettle           Kind = 30
	KindDropDependencies Kind = 31
	KindOverdue          Kind = 32

	// The scheduler.
	KindPlace        Kind = 40
	KindPreempt      Kind = 41
	KindExpireClaims Kind = 42
	KindStartOverdue Kind = 43
	KindSteer        Kind = 44
	KindSuspend      Kind = 45

	// Bookings: GPUs for users and projects, and the maintenance of nodes.
	KindBook           Kind = 46
	KindCancelBooking  Kind = 47
	KindTurnBookings   Kind = 48
	KindSetBookingCaps Kind = 49

	// Agents, and operators' commands about nodes.
	KindRegister    Kind = 60
	KindRenew       Kind = 61
	KindReport      Kind = 62
	KindInventory   Kind = 63
	KindSetNodeMode Kind = 64
	KindConfirmDead Kind = 65
	KindRetireNode  Kind = 66
	KindKillForeign Kind = 67
	KindSetGPUMode  Kind = 68

	KindSetNodeLabels Kind = 69
	KindAdopt         Kind = 70

	// Liveness.
	KindSuspect        Kind = 80
	KindRankLost       Kind = 82
	KindAllocationLost Kind = 83

	// Services that hold GPUs without a job.
	KindAllocate          Kind = 100
	KindGrant             Kind = 101
	KindRenewAllocation   Kind = 102
	KindReleaseAllocation Kind = 103
	KindExpireAllocations Kind = 104

	// Users, tokens and roles.
	KindFoundAuth  Kind = 110
	KindMakeToken  Kind = 111
	KindDropTokens Kind = 112
	KindSetUser    Kind = 113
	KindRemoveUser Kind = 114

	// Certificates of members.
	KindRecordCertificate Kind = 115
	KindRevokeCertificate Kind = 116
	KindBeginRotation     Kind = 117
	KindAdvanceRotation   Kind = 118
	KindAbortRotation     Kind = 119
	KindConfirmTrust      Kind = 126

	// Sessions of browsers.
	KindMakeSession  Kind = 127
	KindRenewSession Kind = 128

	// Notifications and their receivers.
	KindSetWebhook     Kind = 120
	KindDropWebhook    Kind = 121
	KindTestWebhook    Kind = 122
	KindMarkDeliveries Kind = 123
	KindSetNotify      Kind = 124
	KindNearLimit      Kind = 125
	// Settings that founders configure, and operators change.
	KindSetDefaults Kind = 150

	// A cluster's beginning from state files.
	KindBeginImport Kind = 130
	KindImportJobs  Kind = 131
	KindEndImport   Kind = 132
)
