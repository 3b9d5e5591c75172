/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_SRCU_H
#define CMWQ_SHIM_SRCU_H

#include <linux/rcupdate.h>
struct srcu_struct {
	int unused;
};
#define DEFINE_SRCU(name) struct srcu_struct name
#define DEFINE_STATIC_SRCU(name) static struct srcu_struct name
#define init_srcu_struct(s) ((void)(s), 0)
#define cleanup_srcu_struct(s) ((void)(s))
#define srcu_read_lock(s) ((void)(s), rcu_read_lock(), 0)
#define srcu_read_unlock(s, i) ((void)(s), (void)(i), rcu_read_unlock())
#define synchronize_srcu(s) synchronize_rcu()
#define synchronize_srcu_expedited(s) synchronize_rcu()
#define srcu_dereference(p, s) READ_ONCE(p)
#define call_srcu(s, head, f) call_rcu(head, f)
#define srcu_barrier(s) rcu_barrier()

#endif
