// Package mysqlgroup forms a MySQL group from given servers, and forms it again after all of them were lost. The group
// replicates each commit to a majority of its members before the commit is answered (Group Replication, one primary).
//
// The servers must be running, with the plugin and its settings (see pkg/servers/group.cnf). Up is for the first start,
// and lets members that are out rejoin; it changes nothing in a complete group. While a majority lives, the members
// need no help: one that restarts joins by itself. Reboot is for the loss of a majority: it begins with the member
// whose transactions contain all others'.
//
// The DSN must name all servers that any member knows, by its settings or its list of members: a part of them could
// form a second group.
package mysqlgroup
