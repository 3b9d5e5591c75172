/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The C library's: its names may be macros of the kernel's headers already, and are again after it. */
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
