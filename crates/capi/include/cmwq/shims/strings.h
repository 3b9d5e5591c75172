/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The C library's: its names may be macros of the kernel's headers already, and are again after it. */
#pragma push_macro("ffs")
#undef ffs
#include_next <strings.h>
#pragma pop_macro("ffs")
