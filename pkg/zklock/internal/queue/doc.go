// Package queue is how a contender stands in line in ZooKeeper: the names of queue nodes, their
// order, the rules that give each its predecessor, and the life of our node from a create whose
// answer may be lost to a delete whose answer may be lost. It uses package conn, and knows nothing of
// handles, tokens or local hand-off.
//
// Rules for changes:
//
//   - The names are Apache Curator's, and programs in other languages read them. This was
//     tested with Curator itself.
//   - The order is the order of creation. Numbers give it below the end of the parent's counter; beyond
//     that only the czxid does. Never compare names or whole strings.
//   - A search for a node of ours begins with a sync: a create that went through another server may
//     be proposed and not yet committed, and a node found too late would stand ahead of its
//     contender for ever.
//   - A delete names one node of ours by its path. Nothing here deletes a node that another contender
//     has made.
package queue
