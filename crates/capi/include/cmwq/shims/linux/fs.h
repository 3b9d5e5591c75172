/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_FS_H
#define CMWQ_SHIM_FS_H

/* Files as drivers see them. A rig calls the operations. */
#include <linux/types.h>
#include <linux/list.h>
#include <linux/kdev_t.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/stat.h>
#include <linux/wait.h>
#include <linux/poll.h>
#include <linux/uidgid.h>
#include <linux/err.h>
#include <linux/export.h>
struct module; struct inode; struct file; struct dentry; struct super_block; struct vm_area_struct;
struct kiocb; struct iov_iter; struct cdev; struct file_lock;
typedef void *fl_owner_t;
struct inode { umode_t i_mode; void *i_private; dev_t i_rdev; unsigned long i_ino; loff_t i_size;
	       struct super_block *i_sb; struct cdev *i_cdev; };
struct dentry { struct inode *d_inode; struct dentry *d_parent; };
struct file { unsigned int f_flags; fmode_t f_mode; loff_t f_pos; void *private_data;
	      struct inode *f_inode; const struct file_operations *f_op; };
struct file_operations {
	struct module *owner;
	unsigned int fop_flags;
	loff_t (*llseek)(struct file *file, loff_t at, int whence);
	ssize_t (*read)(struct file *file, char __user *to, size_t n, loff_t *at);
	ssize_t (*write)(struct file *file, const char __user *from, size_t n, loff_t *at);
	ssize_t (*read_iter)(struct kiocb *iocb, struct iov_iter *iter);
	ssize_t (*write_iter)(struct kiocb *iocb, struct iov_iter *iter);
	__poll_t (*poll)(struct file *file, struct poll_table_struct *wait);
	long (*unlocked_ioctl)(struct file *file, unsigned int cmd, unsigned long arg);
	long (*compat_ioctl)(struct file *file, unsigned int cmd, unsigned long arg);
	int (*mmap)(struct file *file, struct vm_area_struct *vma);
	int (*open)(struct inode *inode, struct file *file);
	int (*flush)(struct file *file, fl_owner_t id);
	int (*release)(struct inode *inode, struct file *file);
	int (*fsync)(struct file *file, loff_t from, loff_t to, int datasync);
	int (*fasync)(int fd, struct file *file, int on);
};
struct fasync_struct;
#define file_inode(file) ((file)->f_inode)
#define iminor(inode) MINOR((inode)->i_rdev)
#define imajor(inode) MAJOR((inode)->i_rdev)
#define FMODE_READ 1u
#define FMODE_WRITE 2u
#ifndef O_NONBLOCK
#define O_RDONLY 0
#define O_WRONLY 1
#define O_RDWR 2
#define O_ACCMODE 3
#define O_NONBLOCK 04000
#endif
#ifndef SEEK_SET
#define SEEK_SET 0
#define SEEK_CUR 1
#define SEEK_END 2
#endif
extern loff_t noop_llseek(struct file *file, loff_t at, int whence);
extern loff_t no_llseek(struct file *file, loff_t at, int whence);
extern loff_t default_llseek(struct file *file, loff_t at, int whence);
extern int nonseekable_open(struct inode *inode, struct file *file);
extern int stream_open(struct inode *inode, struct file *file);
extern int simple_open(struct inode *inode, struct file *file);
extern ssize_t simple_read_from_buffer(void __user *to, size_t n, loff_t *at, const void *from, size_t size);
extern ssize_t simple_write_to_buffer(void *to, size_t size, loff_t *at, const void __user *from, size_t n);
extern int simple_attr_open(struct inode *inode, struct file *file, int (*get)(void *data, u64 *value),
			    int (*set)(void *data, u64 value), const char *fmt);
extern int simple_attr_release(struct inode *inode, struct file *file);
extern ssize_t simple_attr_read(struct file *file, char __user *to, size_t n, loff_t *at);
extern ssize_t simple_attr_write(struct file *file, const char __user *from, size_t n, loff_t *at);
extern int register_chrdev(unsigned int major, const char *name, const struct file_operations *fops);
extern void unregister_chrdev(unsigned int major, const char *name);
extern int alloc_chrdev_region(dev_t *dev, unsigned int first, unsigned int n, const char *name);
extern int register_chrdev_region(dev_t dev, unsigned int n, const char *name);
extern void unregister_chrdev_region(dev_t dev, unsigned int n);
extern int fasync_helper(int fd, struct file *file, int on, struct fasync_struct **list);
extern void kill_fasync(struct fasync_struct **list, int sig, int band);
extern long compat_ptr_ioctl(struct file *file, unsigned int cmd, unsigned long arg);
#define DEFINE_SIMPLE_ATTRIBUTE(name, get, set, fmt) \
	static int name##_open(struct inode *inode, struct file *file) \
	{ return simple_attr_open(inode, file, get, set, fmt); } \
	static const struct file_operations name __attribute__((unused)) = { .open = name##_open, \
		.release = simple_attr_release, .read = simple_attr_read, .write = simple_attr_write }
/* Files of the system. */
struct cmwq_shim_file { struct file file; int fd; };
extern int cmwq_shim_open(const char *path, int flags, ...) __asm__("open");
extern int cmwq_shim_close(int fd) __asm__("close");
extern long cmwq_shim_pread(int fd, void *to, size_t n, long at) __asm__("pread");
extern long cmwq_shim_pwrite(int fd, const void *from, size_t n, long at) __asm__("pwrite");
CMWQ_INLINE struct file *filp_open(const char *path, int flags, umode_t mode)
{
	struct cmwq_shim_file *of = (struct cmwq_shim_file *)__builtin_calloc(1, sizeof(*of));

	if (!of)
		return (struct file *)ERR_PTR(-ENOMEM);
	of->fd = cmwq_shim_open(path, flags, (int)mode);
	if (of->fd < 0) {
		__builtin_free(of);
		return (struct file *)ERR_PTR(-*cmwq_shim_errno());
	}
	return &of->file;
}
CMWQ_INLINE int filp_close(struct file *file, fl_owner_t id)
{
	struct cmwq_shim_file *of = container_of(file, struct cmwq_shim_file, file);

	(void)id;
	cmwq_shim_close(of->fd);
	__builtin_free(of);
	return 0;
}
CMWQ_INLINE ssize_t kernel_read(struct file *file, void *to, size_t n, loff_t *at)
{
	long got = cmwq_shim_pread(container_of(file, struct cmwq_shim_file, file)->fd, to, n, *at);

	if (got < 0)
		return -*cmwq_shim_errno();
	*at += got;
	return got;
}
CMWQ_INLINE ssize_t kernel_write(struct file *file, const void *from, size_t n, loff_t *at)
{
	long got = cmwq_shim_pwrite(container_of(file, struct cmwq_shim_file, file)->fd, from, n, *at);

	if (got < 0)
		return -*cmwq_shim_errno();
	*at += got;
	return got;
}

#endif
