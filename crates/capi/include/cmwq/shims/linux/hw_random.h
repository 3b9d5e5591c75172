/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_HW_RANDOM_H
#define CMWQ_SHIM_HW_RANDOM_H

#include <linux/completion.h>
#include <linux/device.h>
#include <linux/kref.h>
#include <linux/list.h>
#include "../../linux/workqueue.h"
struct hwrng { const char *name; int (*init)(struct hwrng *rng); void (*cleanup)(struct hwrng *rng); int (*data_present)(struct hwrng *rng, int wait); int (*data_read)(struct hwrng *rng, u32 *data); int (*read)(struct hwrng *rng, void *data, size_t max, bool wait); unsigned long priv; unsigned short quality; struct list_head list; struct kref ref; struct work_struct cleanup_work; struct completion cleanup_done, dying; };
extern int hwrng_register(struct hwrng *rng);
extern int devm_hwrng_register(struct device *dev, struct hwrng *rng);
extern long hwrng_msleep(struct hwrng *rng, unsigned int msecs);
extern void hwrng_unregister(struct hwrng *rng);

#endif
