/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_FCNTL_H
#define CMWQ_SHIM_FCNTL_H

#include <linux/types.h>
#include_next <linux/fcntl.h>

#endif
