// SPDX-License-Identifier: GPL-2.0
/* Registers a CCA or a queueing discipline under another name than that in its source: a kernel has one of each name.
 */
#include <linux/string.h>

#if WRAPS_QUEUE
#include <net/pkt_sched.h>

int __real_register_qdisc(struct Qdisc_ops *ops);
int __wrap_register_qdisc(struct Qdisc_ops *ops);

int __wrap_register_qdisc(struct Qdisc_ops *ops)
{
	if (!strcmp(ops->id, REGISTERS))
		strscpy(ops->id, NAME, sizeof(ops->id));
	return __real_register_qdisc(ops);
}
#else
#include <net/tcp.h>

int __real_tcp_register_congestion_control(struct tcp_congestion_ops *ops);
int __wrap_tcp_register_congestion_control(struct tcp_congestion_ops *ops);

int __wrap_tcp_register_congestion_control(struct tcp_congestion_ops *ops)
{
	if (!strcmp(ops->name, REGISTERS))
		strscpy(ops->name, NAME, sizeof(ops->name));
	return __real_tcp_register_congestion_control(ops);
}
#endif
