/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_NOSPEC_H
#define CMWQ_SHIM_NOSPEC_H

#include <linux/types.h>
/* Nothing is guarded against speculation here: the index stays what it is if it is in range. */
#define array_index_nospec(index, size) \
	({ __typeof__(index) at_ = (index); at_ < (size) ? at_ : 0; })
#define barrier_nospec() barrier()

#endif
