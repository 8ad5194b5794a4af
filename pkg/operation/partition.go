package operation

import "github.com/cespare/xxhash/v2"

// Partitions is the default number of partitions of the stock: one lock for all. A group serves all waiting requests,
// so one lock does not make products wait for each other's commits.
const Partitions = 1

// Partition returns the partition of a product, from 0 to n-1: the xxHash64 of the id in decimal, modulo n. Ids at any
// regular distance spread evenly.
func Partition(goodsID int64, n int) int {
	return int(xxhash.Sum64String(FormatGoodsID(goodsID)) % uint64(n))
}

// PartitionOf returns the partition that all items share, and false if there is none.
func PartitionOf(items []Item, n int) (partition int, one bool) {
	for i, item := range items {
		p := Partition(item.GoodsID, n)
		if i > 0 && p != partition {
			return 0, false
		}
		partition = p
	}
	return partition, len(items) > 0
}
