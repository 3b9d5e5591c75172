/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The C library's: its names may be macros of the kernel's headers already, and are again after it. */
#pragma push_macro("abs")
#undef abs
#include_next <stdlib.h>
#pragma pop_macro("abs")
