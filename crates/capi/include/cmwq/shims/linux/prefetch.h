/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_PREFETCH_H
#define CMWQ_SHIM_PREFETCH_H

#include <linux/cache.h>

#endif
