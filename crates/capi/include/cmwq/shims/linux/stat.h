/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_STAT_H
#define CMWQ_SHIM_STAT_H

#include_next <linux/stat.h>
#define S_IRUGO 0444
#define S_IWUGO 0222
#define S_IXUGO 0111
#define S_IRWXUGO 0777
#ifndef S_IRUSR
#define S_IRUSR 0400
#define S_IWUSR 0200
#define S_IRGRP 0040
#define S_IWGRP 0020
#define S_IROTH 0004
#endif

#endif
