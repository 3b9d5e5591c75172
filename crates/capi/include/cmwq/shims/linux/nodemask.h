/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_NODEMASK_H
#define CMWQ_SHIM_NODEMASK_H

#define NUMA_NO_NODE (-1)
#define MAX_NUMNODES 64
#define numa_node_id() 0
#define numa_mem_id() 0
#define cpu_to_node(cpu) 0
#define num_online_nodes() 1
#define num_possible_nodes() 1
#define node_online(n) ((n) == 0)
#define nr_node_ids 1U
#define for_each_online_node(n) for ((n) = 0; (n) < 1; (n)++)
#define for_each_node(n) for_each_online_node(n)
#define node_state(n, s) ((n) == 0)
#define for_each_node_state(n, s) for_each_online_node(n)
#define N_CPU 0
#define N_MEMORY 1

#endif
