/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_MODULEPARAM_H
#define CMWQ_SHIM_MODULEPARAM_H

/* Parameters have the values of their variables. */
#include <linux/init.h>
struct kernel_param;
struct kernel_param_ops {
	unsigned int flags;
	int (*set)(const char *value, const struct kernel_param *param);
	int (*get)(char *buffer, const struct kernel_param *param);
	void (*free)(void *arg);
};
struct kernel_param {
	const char *name;
	void *arg;
};
#define CMWQ_PARAM(variable) \
	static const void *const cmwq_shim_param_##variable __attribute__((unused)) = &(variable)
#define module_param(name, type, perm) CMWQ_PARAM(name)
#define module_param_named(name, variable, type, perm) CMWQ_PARAM(variable)
#define module_param_unsafe(name, type, perm) CMWQ_PARAM(name)
#define module_param_named_unsafe(name, variable, type, perm) CMWQ_PARAM(variable)
#define module_param_string(name, variable, size, perm) extern int cmwq_shim_note
#define module_param_array(name, type, count, perm) CMWQ_PARAM(name)
#define module_param_array_named(name, variable, type, count, perm) CMWQ_PARAM(variable)
#define module_param_hw(name, type, hw, perm) CMWQ_PARAM(name)
#define module_param_hw_array(name, type, hw, count, perm) CMWQ_PARAM(name)
#define module_param_cb(name, ops, arg, perm) \
	static const void *const cmwq_shim_cb_##name[] __attribute__((unused)) = { ops, arg }
#define core_param(name, variable, type, perm) CMWQ_PARAM(variable)
#define MODULE_PARM_DESC(name, text) extern int cmwq_shim_note
#define __module_param_call(...) extern int cmwq_shim_note
#define module_param_call(name, set, get, arg, perm) extern int cmwq_shim_note
extern int param_set_int(const char *value, const struct kernel_param *param);
extern int param_get_int(char *buffer, const struct kernel_param *param);
extern int param_set_uint(const char *value, const struct kernel_param *param);
extern int param_get_uint(char *buffer, const struct kernel_param *param);
extern int param_set_bool(const char *value, const struct kernel_param *param);
extern int param_get_bool(char *buffer, const struct kernel_param *param);
extern int param_set_charp(const char *value, const struct kernel_param *param);
extern int param_get_charp(char *buffer, const struct kernel_param *param);

#endif
