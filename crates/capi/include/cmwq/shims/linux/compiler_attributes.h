/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_COMPILER_ATTRIBUTES_H
#define CMWQ_SHIM_COMPILER_ATTRIBUTES_H

#define __aligned(x) __attribute__((__aligned__(x)))
#define __packed __attribute__((__packed__))
#define __must_check __attribute__((__warn_unused_result__))
#define __printf(a, b) __attribute__((__format__(__printf__, a, b)))
#define __scanf(a, b) __attribute__((__format__(__scanf__, a, b)))
#define __cold __attribute__((__cold__))
#define __weak __attribute__((__weak__))
#define __always_unused __attribute__((__unused__))
#define __noreturn __attribute__((__noreturn__))
#define __section(s) __attribute__((__section__(s)))
#define __pure __attribute__((__pure__))
#ifndef __always_inline
#define __always_inline inline __attribute__((__always_inline__))
#endif
#define __used __attribute__((__used__))
#define noinline __attribute__((__noinline__))
#define __nonstring
#define __malloc __attribute__((__malloc__))
#define fallthrough __attribute__((__fallthrough__))
#ifndef __cplusplus
#define __cleanup(f) __attribute__((__cleanup__(f)))
#endif
#define ____cacheline_aligned __attribute__((__aligned__(64)))
#define ____cacheline_aligned_in_smp __attribute__((__aligned__(64)))
#define __cacheline_aligned_in_smp __attribute__((__aligned__(64)))
#define __read_mostly
#define __ro_after_init

#endif
