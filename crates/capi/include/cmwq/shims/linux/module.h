/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_MODULE_H
#define CMWQ_SHIM_MODULE_H

/*
 * A module's init runs when the program begins, or its shared object is loaded; its exit at the end.
 * With -DCMWQ_SHIM_NO_MODULE_INIT neither does: the program calls init_module() and cleanup_module().
 */
#include <linux/init.h>
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/kmod.h>
#include <linux/moduleparam.h>
#include <linux/stringify.h>
#include <linux/list.h>
#include <linux/mod_devicetable.h>
#include <linux/kobject.h>
struct module;
#define THIS_MODULE ((struct module *)0)
#ifndef KBUILD_MODNAME
#define KBUILD_MODNAME "module"
#endif
#define MODULE_LICENSE(text) CMWQ_MODULE_NOTE
#define MODULE_AUTHOR(text) CMWQ_MODULE_NOTE
#define MODULE_DESCRIPTION(text) CMWQ_MODULE_NOTE
#define MODULE_VERSION(text) CMWQ_MODULE_NOTE
#define MODULE_ALIAS(text) CMWQ_MODULE_NOTE
#define MODULE_INFO(tag, text) CMWQ_MODULE_NOTE
#define MODULE_FIRMWARE(text) CMWQ_MODULE_NOTE
#define MODULE_SOFTDEP(text) CMWQ_MODULE_NOTE
#define MODULE_IMPORT_NS(text) CMWQ_MODULE_NOTE
#define MODULE_DEVICE_TABLE(type, name) CMWQ_MODULE_NOTE
#define MODULE_ALIAS_MISCDEV(minor) CMWQ_MODULE_NOTE
#define MODULE_ALIAS_CHARDEV_MAJOR(major) CMWQ_MODULE_NOTE
#define MODULE_ALIAS_BLOCKDEV_MAJOR(major) CMWQ_MODULE_NOTE
#define MODULE_ALIAS_FS(name) CMWQ_MODULE_NOTE
#define MODULE_ALIAS_NETPROTO(n) CMWQ_MODULE_NOTE
#define MODULE_ALIAS_CRYPTO(name) CMWQ_MODULE_NOTE
#define MODULE_SUPPORTED_DEVICE(name) CMWQ_MODULE_NOTE
#define CMWQ_MODULE_NOTE extern int cmwq_shim_module_note
#define try_module_get(module) true
#define module_put(module) ((void)(module))
#define __module_get(module) ((void)(module))
#define module_name(module) KBUILD_MODNAME
#define module_refcount(module) 0
#ifdef CMWQ_SHIM_NO_MODULE_INIT
#define module_init(f) int init_module(void); int init_module(void) { return f(); }
#define module_exit(f) void cleanup_module(void); void cleanup_module(void) { f(); }
#else
#define module_init(f) \
	__attribute__((constructor)) static void cmwq_shim_begin_##f(void) { (void)f(); }
#define module_exit(f) \
	__attribute__((destructor)) static void cmwq_shim_end_##f(void) { f(); }
#endif
#define early_initcall module_init
#define core_initcall module_init
#define postcore_initcall module_init
#define arch_initcall module_init
#define subsys_initcall module_init
#define fs_initcall module_init
#define rootfs_initcall module_init
#define device_initcall module_init
#define late_initcall module_init
#define late_initcall_sync module_init
#define device_initcall_sync module_init

#endif
