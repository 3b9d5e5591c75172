/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_JUMP_LABEL_H
#define CMWQ_SHIM_JUMP_LABEL_H

#include <linux/static_key.h>

#endif
