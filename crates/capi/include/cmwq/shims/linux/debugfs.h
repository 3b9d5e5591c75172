/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_DEBUGFS_H
#define CMWQ_SHIM_DEBUGFS_H

/* Nothing is shown. */
#include <linux/fs.h>
#include <linux/seq_file.h>
#include <linux/err.h>
#define debugfs_create_dir(name, parent) ((void)(parent), (struct dentry *)ERR_PTR(-ENODEV))
#define CMWQ_NOT_SHOWN(name, mode, parent, what) ((void)(what))
#define debugfs_create_file(name, mode, parent, data, fops) \
	((void)(data), (void)(fops), (struct dentry *)ERR_PTR(-ENODEV))
#define debugfs_create_file_unsafe debugfs_create_file
#define debugfs_create_file_size(name, mode, parent, data, fops, size) ((void)(data), (void)(fops))
#define debugfs_create_u8 CMWQ_NOT_SHOWN
#define debugfs_create_u16 CMWQ_NOT_SHOWN
#define debugfs_create_u32 CMWQ_NOT_SHOWN
#define debugfs_create_u64 CMWQ_NOT_SHOWN
#define debugfs_create_x8 CMWQ_NOT_SHOWN
#define debugfs_create_x16 CMWQ_NOT_SHOWN
#define debugfs_create_x32 CMWQ_NOT_SHOWN
#define debugfs_create_x64 CMWQ_NOT_SHOWN
#define debugfs_create_ulong CMWQ_NOT_SHOWN
#define debugfs_create_size_t CMWQ_NOT_SHOWN
#define debugfs_create_bool CMWQ_NOT_SHOWN
#define debugfs_create_atomic_t CMWQ_NOT_SHOWN
#define debugfs_create_str CMWQ_NOT_SHOWN
#define debugfs_create_blob(name, mode, parent, blob) ((void)(blob))
#define debugfs_create_devm_seqfile(dev, name, parent, f) ((void)(f))
#define debugfs_create_regset32(name, mode, parent, set) ((void)(set))
#define debugfs_create_symlink(name, parent, to) ((void)0)
#define debugfs_remove(dentry) ((void)(dentry))
#define debugfs_remove_recursive(dentry) ((void)(dentry))
#define debugfs_lookup(name, parent) ((struct dentry *)NULL)
#define debugfs_lookup_and_remove(name, parent) ((void)(parent))
#define debugfs_initialized() false
struct debugfs_blob_wrapper { void *data; unsigned long size; };
#define DEFINE_DEBUGFS_ATTRIBUTE DEFINE_SIMPLE_ATTRIBUTE
#define DEFINE_DEBUGFS_ATTRIBUTE_SIGNED DEFINE_SIMPLE_ATTRIBUTE

#endif
