package format

// SacctmgrFields returns the columns of sacctmgr with their widths. The order decides what a shortened name means.
func SacctmgrFields() []Field {
	return []Field{
		{Key: "account", Names: []string{"Account"}, Title: "Account", Width: 10},
		{Key: "adminlevel", Names: []string{"AdminLevel"}, Title: "Admin", Width: 9},
		{Key: "cluster", Names: []string{"Cluster"}, Title: "Cluster", Width: 10},
		{Key: "defaultaccount", Names: []string{"DefaultAccount"}, Title: "Def Acct", Width: 10},
		{Key: "defaultqos", Names: []string{"DefaultQOS", "DefQOS"}, Title: "Def QOS", Width: 9},
		{Key: "description", Names: []string{"Description"}, Title: "Descr", Width: 20},
		{Key: "name", Names: []string{"Name"}, Title: "Name", Width: 10},
		{Key: "organization", Names: []string{"Organization"}, Title: "Org", Width: 20},
		{Key: "parentname", Names: []string{"ParentName"}, Title: "Par Name", Width: 10},
		{Key: "partition", Names: []string{"Partition"}, Title: "Partition", Width: 10},
		{Key: "qos", Names: []string{"QOS", "QOSLevel"}, Title: "QOS", Width: 20},
		{Key: "user", Names: []string{"User"}, Title: "User", Width: 10},
	}
}

// SshareFields returns the columns of sshare with their widths.
func SshareFields() []Field {
	return []Field{
		{Key: "account", Names: []string{"Account"}, Title: "Account", Width: -20},
		{Key: "cluster", Names: []string{"Cluster"}, Title: "Cluster", Width: 10},
		{Key: "effectvusage", Names: []string{"EffectvUsage"}, Title: "EffectvUsage", Width: 13},
		{Key: "normshares", Names: []string{"NormShares"}, Title: "NormShares", Width: 11},
		{Key: "rawshares", Names: []string{"RawShares"}, Title: "RawShares", Width: 10},
		{Key: "rawusage", Names: []string{"RawUsage"}, Title: "RawUsage", Width: 11},
		{Key: "user", Names: []string{"User"}, Title: "User", Width: 10},
	}
}
