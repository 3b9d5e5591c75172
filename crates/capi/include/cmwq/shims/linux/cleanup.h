/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_CLEANUP_H
#define CMWQ_SHIM_CLEANUP_H

#include <linux/compiler.h>
#define DEFINE_FREE(name, type, ...) \
	CMWQ_INLINE void __free_##name(void *p) { type _T = *(type *)p; __VA_ARGS__; }
#define __free(name) __cleanup(__free_##name)
#define no_free_ptr(p) ({ __typeof__(p) kept_ = (p); (p) = NULL; kept_; })
#define return_ptr(p) return no_free_ptr(p)
#define retain_and_null_ptr(p) ((void)no_free_ptr(p))
#define DEFINE_CLASS(name, type, exit, init, args...) \
	typedef type class_##name##_t; \
	CMWQ_INLINE void class_##name##_destructor(type *p) { type _T = *p; exit; } \
	CMWQ_INLINE type class_##name##_constructor(args) { type t = init; return t; }
#define CLASS(name, var) class_##name##_t var __cleanup(class_##name##_destructor) = \
	class_##name##_constructor
#define DEFINE_GUARD(name, type, lock, unlock) \
	DEFINE_CLASS(name, type, if (_T) { unlock; }, ({ lock; _T; }), type _T)
#define CMWQ_UNIQUE2(a, b) a##b
#define CMWQ_UNIQUE(a, b) CMWQ_UNIQUE2(a, b)
#define guard(name) CLASS(name, CMWQ_UNIQUE(guard_, __COUNTER__))
#define scoped_guard(name, args...) \
	for (CLASS(name, scope)(args), *CMWQ_UNIQUE(done_, __LINE__) = NULL; \
	     !CMWQ_UNIQUE(done_, __LINE__); CMWQ_UNIQUE(done_, __LINE__) = (void *)&scope)
#define DEFINE_LOCK_GUARD_0(name, lock_, unlock_) \
	typedef struct { void *lock; } class_##name##_t; \
	CMWQ_INLINE void class_##name##_destructor(class_##name##_t *_T) { (void)_T; unlock_; } \
	CMWQ_INLINE class_##name##_t class_##name##_constructor(void) \
	{ class_##name##_t t = { (void *)1 }; lock_; return t; }
#define DEFINE_LOCK_GUARD_1(name, type, lock_, unlock_, members...) \
	typedef struct { type *lock; members; } class_##name##_t; \
	CMWQ_INLINE void class_##name##_destructor(class_##name##_t *_T) \
	{ if (_T->lock) { unlock_; } } \
	CMWQ_INLINE class_##name##_t class_##name##_constructor(type *l) \
	{ class_##name##_t t = { .lock = l }, *_T = &t; lock_; return t; }

#endif
