/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The C library's. Where names of it are macros of the kernel's headers, they are again after it. */
#ifdef CMWQ_SHIM_BITOPS_H
#pragma push_macro("ffs")
#undef ffs
#include_next <string.h>
#pragma pop_macro("ffs")
#else
#include_next <string.h>
#endif
