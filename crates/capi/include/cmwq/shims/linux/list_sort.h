/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_LIST_SORT_H
#define CMWQ_SHIM_LIST_SORT_H

#include <linux/list.h>
typedef int (*list_cmp_func_t)(void *priv, const struct list_head *a, const struct list_head *b);
/* Sorts by merging; equal entries keep their order. */
CMWQ_INLINE void list_sort(void *priv, struct list_head *head, list_cmp_func_t cmp)
{
	unsigned long length, merges = 2;
	struct list_head *first, *last, *a, *b, *take;

	for (length = 1; merges > 1; length *= 2) {
		first = head->next;
		last = head;
		merges = 0;
		while (first != head) {
			unsigned long na = 0, nb = length;

			merges++;
			a = b = first;
			while (na < length && b != head) {
				na++;
				b = b->next;
			}
			while (na || (nb && b != head)) {
				if (!na || (nb && b != head && cmp(priv, a, b) > 0)) {
					take = b;
					b = b->next;
					nb--;
				} else {
					take = a;
					a = a->next;
					na--;
				}
				last->next = take;
				take->prev = last;
				last = take;
			}
			first = b;
		}
		last->next = head;
		head->prev = last;
	}
}

#endif
