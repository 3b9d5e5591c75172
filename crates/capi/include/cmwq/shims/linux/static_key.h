/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_STATIC_KEY_H
#define CMWQ_SHIM_STATIC_KEY_H

#include <linux/atomic.h>
/* Branches that are seldom turned round: a count, looked at each time. */
struct static_key { atomic_t enabled; };
struct static_key_true { struct static_key key; };
struct static_key_false { struct static_key key; };
#define STATIC_KEY_INIT_TRUE { ATOMIC_INIT(1) }
#define STATIC_KEY_INIT_FALSE { ATOMIC_INIT(0) }
#define STATIC_KEY_TRUE_INIT { STATIC_KEY_INIT_TRUE }
#define STATIC_KEY_FALSE_INIT { STATIC_KEY_INIT_FALSE }
#define DEFINE_STATIC_KEY_TRUE(name) struct static_key_true name = STATIC_KEY_TRUE_INIT
#define DEFINE_STATIC_KEY_FALSE(name) struct static_key_false name = STATIC_KEY_FALSE_INIT
#define DECLARE_STATIC_KEY_TRUE(name) extern struct static_key_true name
#define DECLARE_STATIC_KEY_FALSE(name) extern struct static_key_false name
#define static_key_count(k) atomic_read(&(k)->enabled)
#define static_key_enabled(k) (atomic_read((atomic_t *)(k)) > 0)
#define static_branch_likely(k) static_key_enabled(k)
#define static_branch_unlikely(k) static_key_enabled(k)
#define static_branch_enable(k) atomic_set(&(k)->key.enabled, 1)
#define static_branch_disable(k) atomic_set(&(k)->key.enabled, 0)
#define static_branch_inc(k) atomic_inc(&(k)->key.enabled)
#define static_branch_dec(k) atomic_dec(&(k)->key.enabled)
#define static_key_slow_inc(k) atomic_inc(&(k)->enabled)
#define static_key_slow_dec(k) atomic_dec(&(k)->enabled)
#define static_key_false(k) static_key_enabled(k)
#define static_key_true(k) static_key_enabled(k)

#endif
