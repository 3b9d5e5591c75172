/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_ERRNO_H
#define CMWQ_SHIM_ERRNO_H

#include_next <linux/errno.h>
#define ERESTARTSYS 512
#define ERESTARTNOINTR 513
#define ENOIOCTLCMD 515
#define EPROBE_DEFER 517
#define ENOPARAM 519
#define ENOTSUPP 524
#define EBADHANDLE 521
#define ENOTSYNC 522
#define EBADCOOKIE 523
#define ETOOSMALL 525
#define ESERVERFAULT 526
#define EBADTYPE 527
#define EJUKEBOX 528
#define EIOCBQUEUED 529
#define ERECALLCONFLICT 530

#endif
