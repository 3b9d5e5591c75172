/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_HASHTABLE_H
#define CMWQ_SHIM_HASHTABLE_H

#include <linux/list.h>
#include <linux/hash.h>
#include <linux/rculist.h>
#include <linux/kernel.h>
#define DEFINE_HASHTABLE(name, bits) struct hlist_head name[1 << (bits)] = { { NULL } }
#define DECLARE_HASHTABLE(name, bits) struct hlist_head name[1 << (bits)]
#define HASH_SIZE(table) ARRAY_SIZE(table)
#define HASH_BITS(table) ilog2(HASH_SIZE(table))
#define hash_min(v, bits) (sizeof(v) <= 4 ? hash_32((u32)(v), bits) : hash_long((unsigned long)(v), bits))
#define hash_init(table) ((void)__builtin_memset(table, 0, sizeof(table)))
#define hash_add(table, node, key) hlist_add_head(node, &(table)[hash_min(key, HASH_BITS(table))])
#define hash_add_rcu hash_add
#define hash_del(node) hlist_del_init(node)
#define hash_del_rcu hash_del
#define hash_hashed(node) (!hlist_unhashed(node))
#define hash_for_each(table, n, pos, member) \
	for ((n) = 0, pos = NULL; !pos && (n) < (__typeof__(n))HASH_SIZE(table); (n)++) \
		hlist_for_each_entry(pos, &(table)[n], member)
#define hash_for_each_safe(table, n, tmp, pos, member) \
	for ((n) = 0, pos = NULL; !pos && (n) < (__typeof__(n))HASH_SIZE(table); (n)++) \
		hlist_for_each_entry_safe(pos, tmp, &(table)[n], member)
#define hash_for_each_possible(table, pos, member, key) \
	hlist_for_each_entry(pos, &(table)[hash_min(key, HASH_BITS(table))], member)
#define hash_for_each_possible_rcu hash_for_each_possible
#define hash_for_each_possible_safe(table, pos, tmp, member, key) \
	hlist_for_each_entry_safe(pos, tmp, &(table)[hash_min(key, HASH_BITS(table))], member)
CMWQ_INLINE bool cmwq_shim_hash_empty(struct hlist_head *table, size_t n)
{
	while (n--)
		if (table[n].first)
			return false;
	return true;
}
#define hash_empty(table) cmwq_shim_hash_empty(table, HASH_SIZE(table))

#endif
