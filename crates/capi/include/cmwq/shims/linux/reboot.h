/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_REBOOT_H
#define CMWQ_SHIM_REBOOT_H

#include <linux/notifier.h>
#include_next <linux/reboot.h>
#define SYS_DOWN 1
#define SYS_RESTART SYS_DOWN
#define SYS_HALT 2
#define SYS_POWER_OFF 3
struct device;
extern int register_reboot_notifier(struct notifier_block *nb);
extern int unregister_reboot_notifier(struct notifier_block *nb);
extern int devm_register_reboot_notifier(struct device *dev, struct notifier_block *nb);
extern int register_restart_handler(struct notifier_block *nb);
extern void orderly_poweroff(bool force);
extern void orderly_reboot(void);
extern void kernel_power_off(void);
extern void kernel_restart(char *cmd);
extern void hw_protection_shutdown(const char *reason, int ms);
extern void emergency_restart(void);

#endif
