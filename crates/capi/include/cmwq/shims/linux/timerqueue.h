/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_TIMERQUEUE_H
#define CMWQ_SHIM_TIMERQUEUE_H

#include <linux/rbtree.h>
struct timerqueue_node {
	struct rb_node node;
	ktime_t expires;
};
struct timerqueue_head { struct rb_root_cached rb_root; };
#define timerqueue_init_head(head) ((void)((head)->rb_root = RB_ROOT_CACHED))
#define timerqueue_init(n) RB_CLEAR_NODE(&(n)->node)
#define timerqueue_node_queued(n) (!RB_EMPTY_NODE(&(n)->node))
#define timerqueue_node_expires(n) ((n)->expires)
CMWQ_INLINE bool cmwq_shim_sooner(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct timerqueue_node, node)->expires <
	       rb_entry(b, struct timerqueue_node, node)->expires;
}
/* True if it is the next one to expire. */
CMWQ_INLINE bool timerqueue_add(struct timerqueue_head *head, struct timerqueue_node *n)
{
	return rb_add_cached(&n->node, &head->rb_root, cmwq_shim_sooner) != NULL;
}
/* True if others are left. */
CMWQ_INLINE bool timerqueue_del(struct timerqueue_head *head, struct timerqueue_node *n)
{
	rb_erase_cached(&n->node, &head->rb_root);
	RB_CLEAR_NODE(&n->node);
	return !RB_EMPTY_ROOT(&head->rb_root.rb_root);
}
CMWQ_INLINE struct timerqueue_node *timerqueue_getnext(struct timerqueue_head *head)
{
	return rb_entry_safe(rb_first_cached(&head->rb_root), struct timerqueue_node, node);
}
CMWQ_INLINE struct timerqueue_node *timerqueue_iterate_next(struct timerqueue_node *n)
{
	return rb_entry_safe(rb_next(&n->node), struct timerqueue_node, node);
}

#endif
