/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The C library's. Where names of it are macros of the kernel's headers, they are again after it. */
#ifdef CMWQ_SHIM_TIMER_H
#pragma push_macro("timer_delete")
#undef timer_delete
#include_next <time.h>
#pragma pop_macro("timer_delete")
#else
#include_next <time.h>
#endif
