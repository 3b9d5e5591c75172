/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_LOCKDEP_H
#define CMWQ_SHIM_LOCKDEP_H

struct lock_class_key { };
struct lockdep_map { };
#define lockdep_set_class(lock, key) ((void)(key))
#define lockdep_set_class_and_name(lock, key, name) ((void)(key))
#define lockdep_set_subclass(lock, class_) ((void)0)
#define lockdep_set_novalidate_class(lock) ((void)0)
#define lockdep_assert_held(lock) ((void)(lock))
#define lockdep_assert_not_held(lock) ((void)(lock))
#define lockdep_assert_held_write(lock) ((void)(lock))
#define lockdep_assert_held_read(lock) ((void)(lock))
#define lockdep_assert_held_once(lock) ((void)(lock))
#define lockdep_assert_once(condition) ((void)0)
#define lockdep_assert(condition) ((void)0)
#define lockdep_assert_none_held_once() ((void)0)
#define lockdep_is_held(lock) 1
#define lockdep_register_key(key) ((void)(key))
#define lockdep_unregister_key(key) ((void)(key))
#define lockdep_init_map(map, name, key, n) ((void)(map))
#define lock_map_acquire(map) ((void)(map))
#define lock_map_release(map) ((void)(map))
#define STATIC_LOCKDEP_MAP_INIT(name, key) { }
#define lockdep_off() ((void)0)
#define lockdep_on() ((void)0)
#define might_lock(lock) ((void)(lock))
#define lockdep_assert_irqs_enabled() ((void)0)
#define lockdep_assert_irqs_disabled() ((void)0)
#define lockdep_assert_in_softirq() ((void)0)

#endif
