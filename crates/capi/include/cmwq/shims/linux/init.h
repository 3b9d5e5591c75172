/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_INIT_H
#define CMWQ_SHIM_INIT_H

#include <linux/compiler.h>
#define __init
#define __exit
#define __exit_p(func) func
#define __initdata
#define __initconst
#define __exitdata
#define __refdata
#define __ref
#define __devinit
#define __init_or_module
#define __meminit

#endif
