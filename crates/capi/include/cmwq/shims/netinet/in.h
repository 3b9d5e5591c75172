/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The C library's. Where names of it are macros of the kernel's headers, they are again after it. */
#ifdef CMWQ_SHIM_ASM_BYTEORDER_H
#pragma push_macro("htons")
#undef htons
#pragma push_macro("htonl")
#undef htonl
#pragma push_macro("ntohs")
#undef ntohs
#pragma push_macro("ntohl")
#undef ntohl
#include_next <netinet/in.h>
#pragma pop_macro("htons")
#pragma pop_macro("htonl")
#pragma pop_macro("ntohs")
#pragma pop_macro("ntohl")
#else
#include_next <netinet/in.h>
#endif
