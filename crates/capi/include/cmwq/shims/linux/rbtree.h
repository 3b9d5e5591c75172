/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_RBTREE_H
#define CMWQ_SHIM_RBTREE_H

/* Red-black trees. */
#include <linux/container_of.h>
#include <linux/types.h>
struct rb_node {
	struct rb_node *parent, *rb_left, *rb_right;
	unsigned long red;
};
struct rb_root { struct rb_node *rb_node; };
struct rb_root_cached {
	struct rb_root rb_root;
	struct rb_node *rb_leftmost;
};
#define RB_ROOT_INITIALIZER { NULL }
#define RB_ROOT ((struct rb_root)RB_ROOT_INITIALIZER)
#define RB_ROOT_CACHED ((struct rb_root_cached){ RB_ROOT_INITIALIZER, NULL })
#define RB_EMPTY_ROOT(root) (READ_ONCE((root)->rb_node) == NULL)
#define rb_parent(n) ((n)->parent)
#define rb_entry(p, type, member) container_of(p, type, member)
#define rb_entry_safe(p, type, member) \
	({ __typeof__(p) n_ = (p); n_ ? rb_entry(n_, type, member) : NULL; })
/* Not in a tree: its own parent. */
#define RB_EMPTY_NODE(n) ((n)->parent == (n))
#define RB_CLEAR_NODE(n) ((void)((n)->parent = (n)))
CMWQ_INLINE void rb_link_node(struct rb_node *n, struct rb_node *parent, struct rb_node **link)
{
	n->parent = parent;
	n->rb_left = n->rb_right = NULL;
	n->red = 1;
	*link = n;
}
#define rb_link_node_rcu rb_link_node
CMWQ_INLINE void cmwq_shim_rb_put(struct rb_root *root, struct rb_node *parent,
				  struct rb_node *old, struct rb_node *n)
{
	if (!parent)
		root->rb_node = n;
	else if (parent->rb_left == old)
		parent->rb_left = n;
	else
		parent->rb_right = n;
	if (n)
		n->parent = parent;
}
/* The child of one side goes up, its parent down to the other side. */
CMWQ_INLINE void cmwq_shim_rb_turn(struct rb_root *root, struct rb_node *n, bool left)
{
	struct rb_node *up = left ? n->rb_right : n->rb_left;
	struct rb_node *moves = left ? up->rb_left : up->rb_right;

	cmwq_shim_rb_put(root, n->parent, n, up);
	if (left) {
		n->rb_right = moves;
		up->rb_left = n;
	} else {
		n->rb_left = moves;
		up->rb_right = n;
	}
	n->parent = up;
	if (moves)
		moves->parent = n;
}
/* After rb_link_node(). */
CMWQ_INLINE void rb_insert_color(struct rb_node *n, struct rb_root *root)
{
	struct rb_node *parent, *grand, *uncle;

	while ((parent = n->parent) && parent->red) {
		bool left = parent == parent->parent->rb_left;

		grand = parent->parent;
		uncle = left ? grand->rb_right : grand->rb_left;
		if (uncle && uncle->red) {
			parent->red = uncle->red = 0;
			grand->red = 1;
			n = grand;
			continue;
		}
		if (n == (left ? parent->rb_right : parent->rb_left)) {
			cmwq_shim_rb_turn(root, parent, left);
			n = parent;
			parent = n->parent;
		}
		parent->red = 0;
		grand->red = 1;
		cmwq_shim_rb_turn(root, grand, !left);
	}
	root->rb_node->red = 0;
}
/* Below the parent, the side of n (which may be NULL) has a black node too few. */
CMWQ_INLINE void cmwq_shim_rb_mend(struct rb_root *root, struct rb_node *n, struct rb_node *parent)
{
	while (parent && !(n && n->red)) {
		bool left = n == parent->rb_left;
		struct rb_node *other = left ? parent->rb_right : parent->rb_left, *near, *far;

		if (other->red) {
			other->red = 0;
			parent->red = 1;
			cmwq_shim_rb_turn(root, parent, left);
			other = left ? parent->rb_right : parent->rb_left;
		}
		near = left ? other->rb_left : other->rb_right;
		far = left ? other->rb_right : other->rb_left;
		if (!(near && near->red) && !(far && far->red)) {
			other->red = 1;
			n = parent;
			parent = n->parent;
			continue;
		}
		if (!(far && far->red)) {
			near->red = 0;
			other->red = 1;
			cmwq_shim_rb_turn(root, other, !left);
			far = other;
			other = near;
		}
		other->red = parent->red;
		parent->red = 0;
		far->red = 0;
		cmwq_shim_rb_turn(root, parent, left);
		n = root->rb_node;
		break;
	}
	if (n)
		n->red = 0;
}
CMWQ_INLINE void rb_erase(struct rb_node *n, struct rb_root *root)
{
	struct rb_node *child, *parent, *next;
	unsigned long red = n->red;

	if (!n->rb_left || !n->rb_right) {
		child = n->rb_left ? n->rb_left : n->rb_right;
		parent = n->parent;
		cmwq_shim_rb_put(root, parent, n, child);
	} else {
		for (next = n->rb_right; next->rb_left; )
			next = next->rb_left;
		red = next->red;
		child = next->rb_right;
		parent = next->parent == n ? next : next->parent;
		if (parent != next) {
			cmwq_shim_rb_put(root, parent, next, child);
			next->rb_right = n->rb_right;
			next->rb_right->parent = next;
		}
		cmwq_shim_rb_put(root, n->parent, n, next);
		next->rb_left = n->rb_left;
		next->rb_left->parent = next;
		next->red = n->red;
	}
	if (!red)
		cmwq_shim_rb_mend(root, child, parent);
}
CMWQ_INLINE struct rb_node *cmwq_shim_rb_end(struct rb_node *n, bool left)
{
	while (n && (left ? n->rb_left : n->rb_right))
		n = left ? n->rb_left : n->rb_right;
	return n;
}
/* The next one in the direction, NULL after the last. */
CMWQ_INLINE struct rb_node *cmwq_shim_rb_step(const struct rb_node *n, bool right)
{
	struct rb_node *below = right ? n->rb_right : n->rb_left, *parent;

	if (RB_EMPTY_NODE(n))
		return NULL;
	if (below)
		return cmwq_shim_rb_end(below, right);
	while ((parent = n->parent) && n == (right ? parent->rb_right : parent->rb_left))
		n = parent;
	return parent;
}
#define rb_first(root) cmwq_shim_rb_end((root)->rb_node, true)
#define rb_last(root) cmwq_shim_rb_end((root)->rb_node, false)
#define rb_next(n) cmwq_shim_rb_step(n, true)
#define rb_prev(n) cmwq_shim_rb_step(n, false)
CMWQ_INLINE void rb_replace_node(struct rb_node *old, struct rb_node *n, struct rb_root *root)
{
	*n = *old;
	cmwq_shim_rb_put(root, old->parent, old, n);
	if (n->rb_left)
		n->rb_left->parent = n;
	if (n->rb_right)
		n->rb_right->parent = n;
}
#define rb_first_cached(root) ((root)->rb_leftmost)
CMWQ_INLINE void rb_insert_color_cached(struct rb_node *n, struct rb_root_cached *root, bool first)
{
	if (first)
		root->rb_leftmost = n;
	rb_insert_color(n, &root->rb_root);
}
CMWQ_INLINE void rb_erase_cached(struct rb_node *n, struct rb_root_cached *root)
{
	if (root->rb_leftmost == n)
		root->rb_leftmost = rb_next(n);
	rb_erase(n, &root->rb_root);
}
/* Adds it after those that are not greater; true if it is the first one. */
CMWQ_INLINE bool cmwq_shim_rb_add(struct rb_node *n, struct rb_root *root,
				  bool (*less)(struct rb_node *a, const struct rb_node *b))
{
	struct rb_node **link = &root->rb_node, *parent = NULL;
	bool first = true;

	while (*link) {
		parent = *link;
		if (less(n, parent)) {
			link = &parent->rb_left;
		} else {
			link = &parent->rb_right;
			first = false;
		}
	}
	rb_link_node(n, parent, link);
	rb_insert_color(n, root);
	return first;
}
#define rb_add(n, root, less) ((void)cmwq_shim_rb_add(n, root, less))
CMWQ_INLINE struct rb_node *rb_add_cached(struct rb_node *n, struct rb_root_cached *root,
					  bool (*less)(struct rb_node *a, const struct rb_node *b))
{
	if (!cmwq_shim_rb_add(n, &root->rb_root, less))
		return NULL;
	root->rb_leftmost = n;
	return n;
}
CMWQ_INLINE struct rb_node *rb_find(const void *key, const struct rb_root *root,
				    int (*cmp)(const void *key, const struct rb_node *n))
{
	struct rb_node *at = root->rb_node;
	int way;

	while (at && (way = cmp(key, at)))
		at = way < 0 ? at->rb_left : at->rb_right;
	return at;
}
/* Children before their parents, so that each may be freed. */
CMWQ_INLINE struct rb_node *cmwq_shim_rb_leaf(struct rb_node *n)
{
	while (n && (n->rb_left || n->rb_right))
		n = n->rb_left ? n->rb_left : n->rb_right;
	return n;
}
#define rb_first_postorder(root) cmwq_shim_rb_leaf((root)->rb_node)
CMWQ_INLINE struct rb_node *rb_next_postorder(const struct rb_node *n)
{
	struct rb_node *parent = n ? n->parent : NULL;

	if (parent && n == parent->rb_left && parent->rb_right)
		return cmwq_shim_rb_leaf(parent->rb_right);
	return parent;
}
#define rbtree_postorder_for_each_entry_safe(at, n, root, field) \
	for ((at) = rb_entry_safe(rb_first_postorder(root), __typeof__(*(at)), field); \
	     (at) && ((n) = rb_entry_safe(rb_next_postorder(&(at)->field), \
					  __typeof__(*(at)), field), 1); \
	     (at) = (n))

#endif
