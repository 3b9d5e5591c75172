/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_STDDEF_H
#define CMWQ_SHIM_STDDEF_H

#include <stddef.h>
#include_next <linux/stddef.h>
#include <linux/compiler.h>
#define sizeof_field(type, member) sizeof(((type *)0)->member)
#define offsetofend(type, member) (offsetof(type, member) + sizeof_field(type, member))

#endif
