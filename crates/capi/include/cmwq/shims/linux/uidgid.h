/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_UIDGID_H
#define CMWQ_SHIM_UIDGID_H

#include <linux/types.h>
typedef struct { unsigned int val; } kuid_t;
typedef struct { unsigned int val; } kgid_t;
#define GLOBAL_ROOT_UID ((kuid_t){ 0 })

#endif
