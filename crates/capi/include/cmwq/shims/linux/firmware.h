/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_FIRMWARE_H
#define CMWQ_SHIM_FIRMWARE_H

#include <linux/types.h>
#include <linux/gfp.h>
struct firmware { size_t size; const u8 *data; void *priv; }; struct device; struct module;
extern int request_firmware(const struct firmware **fw, const char *name, struct device *dev);
extern int firmware_request_nowarn(const struct firmware **fw, const char *name, struct device *dev);
extern int request_firmware_direct(const struct firmware **fw, const char *name, struct device *dev);
extern int request_firmware_nowait(struct module *m, bool uevent, const char *name, struct device *dev, gfp_t gfp, void *context, void (*f)(const struct firmware *fw, void *context));
extern void release_firmware(const struct firmware *fw);
#define FW_ACTION_UEVENT 1

#endif
