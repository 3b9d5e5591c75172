/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_PRANDOM_H
#define CMWQ_SHIM_PRANDOM_H

#include <linux/random.h>

#endif
