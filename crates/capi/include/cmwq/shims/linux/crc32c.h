/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_CRC32C_H
#define CMWQ_SHIM_CRC32C_H

#include <linux/crc32.h>

#endif
