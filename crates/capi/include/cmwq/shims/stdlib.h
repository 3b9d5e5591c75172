/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The C library's. Where names of it are macros of the kernel's headers, they are again after it. */
#ifdef CMWQ_SHIM_MATH_H
#pragma push_macro("abs")
#undef abs
#include_next <stdlib.h>
#pragma pop_macro("abs")
#else
#include_next <stdlib.h>
#endif
