/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The C library's. Where names of it are macros of the kernel's headers, they are again after it. */
#ifdef CMWQ_SHIM_POLL_H
#pragma push_macro("EPOLLIN")
#undef EPOLLIN
#pragma push_macro("EPOLLPRI")
#undef EPOLLPRI
#pragma push_macro("EPOLLOUT")
#undef EPOLLOUT
#pragma push_macro("EPOLLERR")
#undef EPOLLERR
#pragma push_macro("EPOLLHUP")
#undef EPOLLHUP
#pragma push_macro("EPOLLRDNORM")
#undef EPOLLRDNORM
#pragma push_macro("EPOLLWRNORM")
#undef EPOLLWRNORM
#include_next <sys/epoll.h>
#pragma pop_macro("EPOLLIN")
#pragma pop_macro("EPOLLPRI")
#pragma pop_macro("EPOLLOUT")
#pragma pop_macro("EPOLLERR")
#pragma pop_macro("EPOLLHUP")
#pragma pop_macro("EPOLLRDNORM")
#pragma pop_macro("EPOLLWRNORM")
#else
#include_next <sys/epoll.h>
#endif
