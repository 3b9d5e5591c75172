/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_EXPORT_H
#define CMWQ_SHIM_EXPORT_H

#define EXPORT_SYMBOL(name) extern __typeof__(name) name
#define EXPORT_SYMBOL_GPL(name) extern __typeof__(name) name
#define EXPORT_SYMBOL_NS(name, ns) extern __typeof__(name) name
#define EXPORT_SYMBOL_NS_GPL(name, ns) extern __typeof__(name) name
#define EXPORT_PER_CPU_SYMBOL(name) extern __typeof__(name) name
#define EXPORT_PER_CPU_SYMBOL_GPL(name) extern __typeof__(name) name
#define EXPORT_TRACEPOINT_SYMBOL_GPL(name) extern int cmwq_shim_note
#define EXPORT_TRACEPOINT_SYMBOL(name) extern int cmwq_shim_note

#endif
