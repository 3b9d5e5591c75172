/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_POLL_H
#define CMWQ_SHIM_POLL_H

#include <linux/types.h>
#include <linux/wait.h>
#include_next <linux/poll.h>
struct file;
struct poll_table_struct { void *unused; };
typedef struct poll_table_struct poll_table;
#define poll_wait(file, q, table) ((void)(file), (void)(q), (void)(table))
#define EPOLLIN ((__poll_t)1)
#define EPOLLPRI ((__poll_t)2)
#define EPOLLOUT ((__poll_t)4)
#define EPOLLERR ((__poll_t)8)
#define EPOLLHUP ((__poll_t)0x10)
#define EPOLLRDNORM ((__poll_t)0x40)
#define EPOLLWRNORM ((__poll_t)0x100)

#endif
