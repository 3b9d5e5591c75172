/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_UTSRELEASE_H
#define CMWQ_SHIM_UTSRELEASE_H

/* The kernel whose names these are. */
#define UTS_RELEASE "6.12.0-cmwq"

#endif
