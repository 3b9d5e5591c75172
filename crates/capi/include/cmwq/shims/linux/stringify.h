/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_STRINGIFY_H
#define CMWQ_SHIM_STRINGIFY_H

#include <linux/kernel.h>

#endif
