/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_LLIST_H
#define CMWQ_SHIM_LLIST_H

#include <linux/container_of.h>
#include <linux/types.h>
struct llist_node {
	struct llist_node *next;
};
struct llist_head {
	struct llist_node *first;
};
#define LLIST_HEAD_INIT(name) { NULL }
#define LLIST_HEAD(name) struct llist_head name = LLIST_HEAD_INIT(name)
#define init_llist_head(head) ((head)->first = NULL)
#define init_llist_node(node) ((node)->next = (node))
#define llist_entry(ptr, type, member) container_of(ptr, type, member)
CMWQ_INLINE bool llist_add(struct llist_node *n, struct llist_head *head)
{
	struct llist_node *first = __atomic_load_n(&head->first, __ATOMIC_SEQ_CST);

	do
		n->next = first;
	while (!__atomic_compare_exchange_n(&head->first, &first, n, false, __ATOMIC_SEQ_CST,
					    __ATOMIC_SEQ_CST));
	return !first;
}
#define llist_empty(head) (!READ_ONCE((head)->first))
#define llist_del_all(head) \
	__atomic_exchange_n(&(head)->first, (struct llist_node *)NULL, __ATOMIC_SEQ_CST)
CMWQ_INLINE struct llist_node *llist_reverse_order(struct llist_node *head)
{
	struct llist_node *done = NULL;

	while (head) {
		struct llist_node *next = head->next;

		head->next = done;
		done = head;
		head = next;
	}
	return done;
}
#define llist_next(node) ((node)->next)
#define llist_for_each_safe(pos, n, node) for (pos = (node); pos && (n = pos->next, true); pos = n)
#define llist_for_each_entry_safe(pos, n, node, member) \
	for (pos = llist_entry((node), __typeof__(*pos), member); \
	     (void *)&pos->member != NULL && \
	     (n = llist_entry(pos->member.next, __typeof__(*n), member), true); pos = n)
#define llist_for_each_entry(pos, node, member) \
	for ((pos) = llist_entry((node), __typeof__(*(pos)), member); (void *)&(pos)->member != NULL; \
	     (pos) = llist_entry((pos)->member.next, __typeof__(*(pos)), member))

#endif
