/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_BUG_H
#define CMWQ_SHIM_BUG_H

#include <linux/printk.h>
#define BUG() do { printk("BUG: %s:%d\n", __FILE__, __LINE__); __builtin_trap(); } while (0)
#define BUG_ON(condition) do { if (unlikely(condition)) BUG(); } while (0)
#define WARN(condition, fmt, ...) ({ bool warn_ = !!(condition); \
	if (unlikely(warn_)) printk("WARNING: %s:%d: " fmt "\n", __FILE__, __LINE__, ##__VA_ARGS__); \
	unlikely(warn_); })
#define WARN_ON(condition) WARN(condition, "%s", #condition)
#define WARN_ONCE(condition, fmt, ...) ({ static bool warned_; bool is_ = !!(condition); \
	if (is_ && !warned_) { warned_ = true; WARN(1, fmt, ##__VA_ARGS__); } unlikely(is_); })
#define WARN_ON_ONCE(condition) WARN_ONCE(condition, "%s", #condition)
#define WARN_ON_SMP(condition) WARN_ON(condition)
#include <linux/build_bug.h>
#define VM_BUG_ON BUG_ON
#define VM_WARN_ON WARN_ON
#define VM_WARN_ON_ONCE WARN_ON_ONCE

#endif
