/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_POLL_H
#define CMWQ_SHIM_POLL_H

#include <linux/types.h>
#include <linux/wait.h>
#include_next <linux/poll.h>
struct file;
struct poll_table_struct;
/* How a poller adds itself to a wait queue. */
typedef void (*poll_queue_proc)(struct file *file, wait_queue_head_t *q,
				struct poll_table_struct *table);
typedef struct poll_table_struct {
	poll_queue_proc _qproc;
	__poll_t _key;
} poll_table;
CMWQ_INLINE void init_poll_funcptr(poll_table *table, poll_queue_proc proc)
{
	table->_qproc = proc;
	table->_key = ~(__poll_t)0;
}
CMWQ_INLINE void poll_wait(struct file *file, wait_queue_head_t *q, poll_table *table)
{
	if (table && table->_qproc && q)
		table->_qproc(file, q, table);
}
#define poll_requested_events(table) ((table) ? (table)->_key : ~(__poll_t)0)
#define poll_does_not_wait(table) (!(table) || !(table)->_qproc)
#define EPOLLIN ((__poll_t)1)
#define EPOLLPRI ((__poll_t)2)
#define EPOLLOUT ((__poll_t)4)
#define EPOLLERR ((__poll_t)8)
#define EPOLLHUP ((__poll_t)0x10)
#define EPOLLRDNORM ((__poll_t)0x40)
#define EPOLLWRNORM ((__poll_t)0x100)

#endif
