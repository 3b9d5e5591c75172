/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_SEQ_FILE_H
#define CMWQ_SHIM_SEQ_FILE_H

/* A rig gives the buffer. */
#include <linux/fs.h>
#include <linux/string.h>
#include <linux/sprintf.h>
#include <linux/bitmap.h>
struct seq_file { char *buf; size_t size, count; void *private; struct file *file;
		  const struct seq_operations *op; };
struct seq_operations { void *(*start)(struct seq_file *m, loff_t *at);
	void (*stop)(struct seq_file *m, void *v); void *(*next)(struct seq_file *m, void *v, loff_t *at);
	int (*show)(struct seq_file *m, void *v); };
CMWQ_INLINE void seq_printf(struct seq_file *m, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	if (m->count < m->size)
		m->count += (size_t)vscnprintf(m->buf + m->count, m->size - m->count, fmt, args);
	va_end(args);
}
#define seq_puts(m, s) seq_printf(m, "%s", s)
#define seq_putc(m, c) seq_printf(m, "%c", c)
#define seq_write(m, p, n) (seq_printf(m, "%.*s", (int)(n), (const char *)(p)), 0)
#define seq_put_decimal_ull(m, before, n) seq_printf(m, "%s%llu", before, (unsigned long long)(n))
#define SEQ_SKIP 1
extern int single_open(struct file *file, int (*show)(struct seq_file *m, void *v), void *data);
extern int single_release(struct inode *inode, struct file *file);
extern int seq_open(struct file *file, const struct seq_operations *ops);
extern int seq_release(struct inode *inode, struct file *file);
extern ssize_t seq_read(struct file *file, char __user *to, size_t n, loff_t *at);
extern loff_t seq_lseek(struct file *file, loff_t at, int whence);
#define DEFINE_SHOW_ATTRIBUTE(name) \
	static int name##_open(struct inode *inode, struct file *file) \
	{ return single_open(file, name##_show, inode->i_private); } \
	static const struct file_operations name##_fops __attribute__((unused)) = { \
		.open = name##_open, .read = seq_read, .llseek = seq_lseek, .release = single_release }
#define DEFINE_SEQ_ATTRIBUTE(name) \
	static int name##_open(struct inode *inode, struct file *file) \
	{ return seq_open(file, &name##_sops); } \
	static const struct file_operations name##_fops __attribute__((unused)) = { \
		.open = name##_open, .read = seq_read, .llseek = seq_lseek, .release = seq_release }

#endif
