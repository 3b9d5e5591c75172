/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_KCONFIG_H
#define CMWQ_SHIM_KCONFIG_H

/* CONFIG_X=1 (-DCONFIG_X) is on, everything else is off. */
#define CMWQ_CONFIG_1 0,
#define CMWQ_CONFIG_TAKE(ignored, value, ...) value
#define CMWQ_CONFIG_OF(one) CMWQ_CONFIG_TAKE(one 1, 0)
#define CMWQ_CONFIG_OR(value) CMWQ_CONFIG_OF(CMWQ_CONFIG_##value)
#define CMWQ_CONFIG_ON(value) CMWQ_CONFIG_OR(value)
#define IS_ENABLED(option) CMWQ_CONFIG_ON(option)
#define IS_BUILTIN(option) CMWQ_CONFIG_ON(option)
#define IS_MODULE(option) 0
#define IS_REACHABLE(option) CMWQ_CONFIG_ON(option)

#endif
