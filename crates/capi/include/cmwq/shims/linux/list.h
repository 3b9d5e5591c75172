/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_LIST_H
#define CMWQ_SHIM_LIST_H

#include <linux/container_of.h>
#include <linux/types.h>
#define LIST_POISON1 ((void *)0x100)
#define LIST_POISON2 ((void *)0x122)
#define LIST_HEAD_INIT(name) { &(name), &(name) }
#define LIST_HEAD(name) struct list_head name = LIST_HEAD_INIT(name)
CMWQ_INLINE void INIT_LIST_HEAD(struct list_head *list) { list->next = list->prev = list; }
CMWQ_INLINE void __list_add(struct list_head *entry, struct list_head *prev,
			    struct list_head *next)
{
	next->prev = entry;
	entry->next = next;
	entry->prev = prev;
	WRITE_ONCE(prev->next, entry);
}
CMWQ_INLINE void list_add(struct list_head *entry, struct list_head *head)
{
	__list_add(entry, head, head->next);
}
CMWQ_INLINE void list_add_tail(struct list_head *entry, struct list_head *head)
{
	__list_add(entry, head->prev, head);
}
CMWQ_INLINE void __list_del_entry(struct list_head *entry)
{
	entry->next->prev = entry->prev;
	WRITE_ONCE(entry->prev->next, entry->next);
}
CMWQ_INLINE void list_del(struct list_head *entry)
{
	__list_del_entry(entry);
	entry->next = (struct list_head *)LIST_POISON1;
	entry->prev = (struct list_head *)LIST_POISON2;
}
CMWQ_INLINE void list_del_init(struct list_head *entry)
{
	__list_del_entry(entry);
	INIT_LIST_HEAD(entry);
}
#define list_del_init_careful list_del_init
CMWQ_INLINE void list_replace(struct list_head *old, struct list_head *entry)
{
	entry->next = old->next;
	entry->next->prev = entry;
	entry->prev = old->prev;
	entry->prev->next = entry;
}
CMWQ_INLINE void list_replace_init(struct list_head *old, struct list_head *entry)
{
	list_replace(old, entry);
	INIT_LIST_HEAD(old);
}
CMWQ_INLINE void list_move(struct list_head *entry, struct list_head *head)
{
	__list_del_entry(entry);
	list_add(entry, head);
}
CMWQ_INLINE void list_move_tail(struct list_head *entry, struct list_head *head)
{
	__list_del_entry(entry);
	list_add_tail(entry, head);
}
CMWQ_INLINE int list_empty(const struct list_head *head) { return READ_ONCE(head->next) == head; }
#define list_empty_careful list_empty
CMWQ_INLINE int list_is_last(const struct list_head *entry, const struct list_head *head)
{
	return entry->next == head;
}
CMWQ_INLINE int list_is_first(const struct list_head *entry, const struct list_head *head)
{
	return entry->prev == head;
}
#define list_is_head(entry, head) ((entry) == (head))
CMWQ_INLINE int list_is_singular(const struct list_head *head)
{
	return !list_empty(head) && head->next == head->prev;
}
CMWQ_INLINE void list_rotate_left(struct list_head *head)
{
	if (!list_empty(head))
		list_move_tail(head->next, head);
}
CMWQ_INLINE void cmwq_shim_splice(const struct list_head *list, struct list_head *prev,
				  struct list_head *next)
{
	if (list_empty(list))
		return;
	list->next->prev = prev;
	prev->next = list->next;
	list->prev->next = next;
	next->prev = list->prev;
}
CMWQ_INLINE void list_splice(const struct list_head *list, struct list_head *head)
{
	cmwq_shim_splice(list, head, head->next);
}
CMWQ_INLINE void list_splice_tail(struct list_head *list, struct list_head *head)
{
	cmwq_shim_splice(list, head->prev, head);
}
CMWQ_INLINE void list_splice_init(struct list_head *list, struct list_head *head)
{
	cmwq_shim_splice(list, head, head->next);
	INIT_LIST_HEAD(list);
}
CMWQ_INLINE void list_splice_tail_init(struct list_head *list, struct list_head *head)
{
	cmwq_shim_splice(list, head->prev, head);
	INIT_LIST_HEAD(list);
}
CMWQ_INLINE size_t list_count_nodes(struct list_head *head)
{
	struct list_head *at;
	size_t n = 0;

	for (at = head->next; at != head; at = at->next)
		n++;
	return n;
}
#define list_entry(ptr, type, member) container_of(ptr, type, member)
#define list_first_entry(ptr, type, member) list_entry((ptr)->next, type, member)
#define list_last_entry(ptr, type, member) list_entry((ptr)->prev, type, member)
#define list_first_entry_or_null(ptr, type, member) \
	(list_empty(ptr) ? NULL : list_first_entry(ptr, type, member))
#define list_last_entry_or_null(ptr, type, member) \
	(list_empty(ptr) ? NULL : list_last_entry(ptr, type, member))
#define list_next_entry(pos, member) list_entry((pos)->member.next, __typeof__(*(pos)), member)
#define list_prev_entry(pos, member) list_entry((pos)->member.prev, __typeof__(*(pos)), member)
#define list_entry_is_head(pos, head, member) (&(pos)->member == (head))
#define list_for_each(pos, head) for (pos = (head)->next; pos != (head); pos = pos->next)
#define list_for_each_prev(pos, head) for (pos = (head)->prev; pos != (head); pos = pos->prev)
#define list_for_each_safe(pos, n, head) \
	for (pos = (head)->next, n = pos->next; pos != (head); pos = n, n = pos->next)
#define list_for_each_entry(pos, head, member) \
	for (pos = list_first_entry(head, __typeof__(*pos), member); \
	     !list_entry_is_head(pos, head, member); pos = list_next_entry(pos, member))
#define list_for_each_entry_reverse(pos, head, member) \
	for (pos = list_last_entry(head, __typeof__(*pos), member); \
	     !list_entry_is_head(pos, head, member); pos = list_prev_entry(pos, member))
#define list_prepare_entry(pos, head, member) \
	((pos) ? (pos) : list_entry(head, __typeof__(*pos), member))
#define list_for_each_entry_continue(pos, head, member) \
	for (pos = list_next_entry(pos, member); !list_entry_is_head(pos, head, member); \
	     pos = list_next_entry(pos, member))
#define list_for_each_entry_continue_reverse(pos, head, member) \
	for (pos = list_prev_entry(pos, member); !list_entry_is_head(pos, head, member); \
	     pos = list_prev_entry(pos, member))
#define list_for_each_entry_from(pos, head, member) \
	for (; !list_entry_is_head(pos, head, member); pos = list_next_entry(pos, member))
#define list_for_each_entry_safe(pos, n, head, member) \
	for (pos = list_first_entry(head, __typeof__(*pos), member), \
	     n = list_next_entry(pos, member); !list_entry_is_head(pos, head, member); \
	     pos = n, n = list_next_entry(n, member))
#define list_for_each_entry_safe_reverse(pos, n, head, member) \
	for (pos = list_last_entry(head, __typeof__(*pos), member), \
	     n = list_prev_entry(pos, member); !list_entry_is_head(pos, head, member); \
	     pos = n, n = list_prev_entry(n, member))
#define HLIST_HEAD_INIT { NULL }
#define HLIST_HEAD(name) struct hlist_head name = { NULL }
#define INIT_HLIST_HEAD(head) ((head)->first = NULL)
CMWQ_INLINE void INIT_HLIST_NODE(struct hlist_node *n) { n->next = NULL, n->pprev = NULL; }
CMWQ_INLINE int hlist_unhashed(const struct hlist_node *n) { return !n->pprev; }
CMWQ_INLINE int hlist_empty(const struct hlist_head *head) { return !READ_ONCE(head->first); }
CMWQ_INLINE void hlist_del(struct hlist_node *n)
{
	*n->pprev = n->next;
	if (n->next)
		n->next->pprev = n->pprev;
	n->pprev = NULL;
}
CMWQ_INLINE void hlist_del_init(struct hlist_node *n)
{
	if (!hlist_unhashed(n)) {
		hlist_del(n);
		INIT_HLIST_NODE(n);
	}
}
CMWQ_INLINE void hlist_add_head(struct hlist_node *n, struct hlist_head *head)
{
	n->next = head->first;
	if (n->next)
		n->next->pprev = &n->next;
	head->first = n;
	n->pprev = &head->first;
}
#define hlist_entry(ptr, type, member) container_of(ptr, type, member)
#define hlist_entry_safe(ptr, type, member) \
	({ __typeof__(ptr) entry_ = (ptr); entry_ ? hlist_entry(entry_, type, member) : NULL; })
#define hlist_for_each(pos, head) for (pos = (head)->first; pos; pos = pos->next)
#define hlist_for_each_safe(pos, n, head) \
	for (pos = (head)->first; pos && ({ n = pos->next; 1; }); pos = n)
#define hlist_for_each_entry(pos, head, member) \
	for (pos = hlist_entry_safe((head)->first, __typeof__(*(pos)), member); pos; \
	     pos = hlist_entry_safe((pos)->member.next, __typeof__(*(pos)), member))
#define hlist_for_each_entry_safe(pos, n, head, member) \
	for (pos = hlist_entry_safe((head)->first, __typeof__(*pos), member); \
	     pos && ({ n = pos->member.next; 1; }); \
	     pos = hlist_entry_safe(n, __typeof__(*pos), member))

#endif
