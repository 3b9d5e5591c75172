/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_PROC_FS_H
#define CMWQ_SHIM_PROC_FS_H

#include <linux/fs.h>
#include <linux/seq_file.h>
struct proc_dir_entry;
struct proc_ops { unsigned int proc_flags; int (*proc_open)(struct inode *inode, struct file *file);
	ssize_t (*proc_read)(struct file *file, char __user *to, size_t n, loff_t *at);
	ssize_t (*proc_write)(struct file *file, const char __user *from, size_t n, loff_t *at);
	loff_t (*proc_lseek)(struct file *file, loff_t at, int whence);
	int (*proc_release)(struct inode *inode, struct file *file); };
#define proc_create(name, mode, parent, ops) ((void)(ops), (struct proc_dir_entry *)NULL)
#define proc_create_data(name, mode, parent, ops, data) ((void)(ops), (struct proc_dir_entry *)NULL)
#define proc_create_single(name, mode, parent, f) ((void)(f), (struct proc_dir_entry *)NULL)
#define proc_create_single_data(name, mode, parent, f, data) ((void)(f), (struct proc_dir_entry *)NULL)
#define proc_create_seq(name, mode, parent, ops) ((void)(ops), (struct proc_dir_entry *)NULL)
#define proc_mkdir(name, parent) ((struct proc_dir_entry *)NULL)
#define remove_proc_entry(name, parent) ((void)0)
#define remove_proc_subtree(name, parent) 0
#define proc_remove(entry) ((void)(entry))

#endif
