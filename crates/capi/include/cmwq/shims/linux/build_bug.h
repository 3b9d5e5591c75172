/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_BUILD_BUG_H
#define CMWQ_SHIM_BUILD_BUG_H

#ifndef __cplusplus
#ifndef static_assert
#define static_assert(expr, ...) CMWQ_STATIC_ASSERT(expr, ##__VA_ARGS__, #expr)
#define CMWQ_STATIC_ASSERT(expr, text, ...) _Static_assert(expr, text)
#endif
#endif
#define BUILD_BUG_ON(condition) ((void)sizeof(char[1 - 2 * !!(condition)]))
#define BUILD_BUG_ON_MSG(condition, text) BUILD_BUG_ON(condition)
#define BUILD_BUG_ON_NOT_POWER_OF_2(n) BUILD_BUG_ON((n) == 0 || (((n) & ((n) - 1)) != 0))
#define BUILD_BUG_ON_ZERO(e) ((int)(sizeof(struct { int : (-!!(e)); })))
#define BUILD_BUG() ((void)0)

#endif
