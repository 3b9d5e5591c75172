/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_ASYNC_H
#define CMWQ_SHIM_ASYNC_H

#include <linux/types.h>
#include <linux/list.h>
#include "../../../cmwq.h"
struct device;
typedef u64 async_cookie_t;
typedef void (*async_func_t)(void *data, async_cookie_t cookie);
struct async_domain {
	struct cmwq_async_domain domain;
};
#define ASYNC_DOMAIN(name) struct async_domain name = { { 0, 0, 0 } }
#define ASYNC_DOMAIN_EXCLUSIVE(name) struct async_domain name = { { 0, 1, 0 } }
#define CMWQ_ASYNC(func) ((void (*)(void *, uint64_t))(func))
#define async_schedule(func, data) \
	((async_cookie_t)cmwq_async_schedule(NULL, CMWQ_ASYNC(func), (void *)(data)))
#define async_schedule_domain(func, data, of) \
	((async_cookie_t)cmwq_async_schedule(&(of)->domain, CMWQ_ASYNC(func), (void *)(data)))
#define async_schedule_node(func, data, node) async_schedule(func, data)
#define async_schedule_node_domain(func, data, node, of) async_schedule_domain(func, data, of)
#define async_schedule_dev(func, dev) async_schedule(func, dev)
#define async_schedule_dev_domain(func, dev, of) async_schedule_domain(func, dev, of)
#define async_schedule_dev_nocall(func, dev) (async_schedule(func, dev), true)
#define async_synchronize_full() ((void)cmwq_async_synchronize_all())
#define async_synchronize_full_domain(of) ((void)cmwq_async_synchronize_full(&(of)->domain))
#define async_synchronize_cookie(cookie) ((void)cmwq_async_synchronize_cookie(NULL, cookie))
#define async_synchronize_cookie_domain(cookie, of) \
	((void)cmwq_async_synchronize_cookie(&(of)->domain, cookie))
#define current_is_async() (cmwq_current_is_async() != 0)

#endif
