/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_TYPECHECK_H
#define CMWQ_SHIM_TYPECHECK_H

#define typecheck(type, x) ({ type dummy_; __typeof__(x) dummy2_; (void)(&dummy_ == &dummy2_); 1; })

#endif
