/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_RCULIST_H
#define CMWQ_SHIM_RCULIST_H

#include <linux/list.h>
#include <linux/rcupdate.h>
#define list_add_rcu list_add
#define list_add_tail_rcu list_add_tail
CMWQ_INLINE void list_del_rcu(struct list_head *entry)
{
	__list_del_entry(entry);
	entry->prev = (struct list_head *)LIST_POISON2;
}
#define list_replace_rcu list_replace
#define list_for_each_entry_rcu(pos, head, member, ...) list_for_each_entry(pos, head, member)
#define list_first_or_null_rcu list_first_entry_or_null
#define hlist_add_head_rcu hlist_add_head
#define hlist_del_rcu hlist_del
#define hlist_del_init_rcu hlist_del_init
#define hlist_for_each_entry_rcu(pos, head, member, ...) hlist_for_each_entry(pos, head, member)

#endif
