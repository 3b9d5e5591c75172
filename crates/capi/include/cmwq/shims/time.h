/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The C library's: its names may be macros of the kernel's headers already, and are again after it. */
#pragma push_macro("timer_delete")
#undef timer_delete
#include_next <time.h>
#pragma pop_macro("timer_delete")
