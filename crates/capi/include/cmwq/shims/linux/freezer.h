/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_FREEZER_H
#define CMWQ_SHIM_FREEZER_H

#define set_freezable() false
#define try_to_freeze() false
#define freezing(task) false
#define frozen(task) false
#define freezable_schedule() schedule()
#define freezable_schedule_timeout(t) schedule_timeout(t)
#define freezer_do_not_count() ((void)0)
#define freezer_count() ((void)0)

#endif
