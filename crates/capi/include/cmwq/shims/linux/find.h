/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_FIND_H
#define CMWQ_SHIM_FIND_H

#include <linux/bitops.h>

#endif
