/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_COMPILER_TYPES_H
#define CMWQ_SHIM_COMPILER_TYPES_H

#include <linux/compiler.h>

#endif
