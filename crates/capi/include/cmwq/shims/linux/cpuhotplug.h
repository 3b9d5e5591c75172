/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_CPUHOTPLUG_H
#define CMWQ_SHIM_CPUHOTPLUG_H

/* CPUs neither come nor go. */
enum cpuhp_state { CPUHP_AP_ONLINE_DYN = 1, CPUHP_BP_PREPARE_DYN, CPUHP_PADATA_DEAD };
#define cpuhp_setup_state(state, name, up, down) ((void)(up), (void)(down), (int)(state))
#define cpuhp_setup_state_nocalls cpuhp_setup_state
#define cpuhp_setup_state_multi(state, name, up, down) ((void)(up), (void)(down), (int)(state))
#define cpuhp_remove_state(state) ((void)(state))
#define cpuhp_remove_state_nocalls(state) ((void)(state))
#define cpuhp_remove_multi_state(state) ((void)(state))
#define cpuhp_state_add_instance(state, node) ((void)(node), 0)
#define cpuhp_state_add_instance_nocalls(state, node) ((void)(node), 0)
#define cpuhp_state_remove_instance(state, node) ((void)(node), 0)
#define cpuhp_state_remove_instance_nocalls(state, node) ((void)(node), 0)

#endif
