/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a test asks of the zoo it runs in, by the names of the library's symbols: it finds them in
 * the library that the module has loaded.
 */
#ifndef ZOO_CONTROL_H
#define ZOO_CONTROL_H

#include <stdint.h>

/*
 * "loss", "duplicate" (of CM messages, in thousandths), "delay_us"; "lose_rtu", the next one;
 * "command_us" that a command of the firmware takes at least; "event", of the first card (enum
 * ibv_event_type; of another port than 1, its number times 256 more), "qp_event", of every QP, "cm_event" and
 * "cm_failure" (enum rdma_cm_event_type), of every id but listeners; of the card with this number:
 * "port_down", "port_up", "removed", "moved" (its address is the next card's) and "stayed" (no
 * more), "addr_change" (a bond failed over), "qp_error" and "cq_error" (of all that are in use). 0
 * or an errno.
 */
int zoo_control(const char *name, uint32_t value);
/*
 * How many "ids" (of rdma_cm), "qps", "cqs", "srqs", "mrs" (with windows), "on_demand" of them,
 * "pds" and "msgs" on the way there are, completion "vectors" in use, and entries of the longest
 * CQ, "cqe"; messages of connection managers that were ever sent, "cm_sent"; of a connection, "pkey", "sl", "tclass", "port" and "gid_index" (UINT32_MAX: there is
 * none).
 */
uint32_t zoo_count(const char *what);

#endif
