/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_CONTAINER_OF_H
#define CMWQ_SHIM_CONTAINER_OF_H

#include <linux/stddef.h>
#define container_of(ptr, type, member) \
	((type *)(void *)((char *)(ptr) - offsetof(type, member)))
#define container_of_const(ptr, type, member) container_of(ptr, type, member)

#endif
