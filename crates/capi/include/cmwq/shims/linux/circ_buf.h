/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_CIRC_BUF_H
#define CMWQ_SHIM_CIRC_BUF_H

#include <linux/types.h>
struct circ_buf {
	char *buf;
	int head, tail;
};
/* The size is a power of two; one place stays free. */
#define CIRC_CNT(head, tail, size) (((head) - (tail)) & ((size) - 1))
#define CIRC_SPACE(head, tail, size) CIRC_CNT(tail, (head) + 1, size)
#define CIRC_CNT_TO_END(head, tail, size) \
	({ __typeof__(head) end_ = (size) - (tail), n_ = ((head) + end_) & ((size) - 1); \
	   n_ < end_ ? n_ : end_; })
#define CIRC_SPACE_TO_END(head, tail, size) \
	({ __typeof__(head) end_ = (size) - 1 - (head), n_ = (end_ + (tail)) & ((size) - 1); \
	   n_ <= end_ ? n_ : end_ + 1; })

#endif
