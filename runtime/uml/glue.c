// SPDX-License-Identifier: GPL-2.0
/* Registers a CCA under another name than that in its source: a kernel has one of each name. */
#include <linux/string.h>
#include <net/tcp.h>

int __real_tcp_register_congestion_control(struct tcp_congestion_ops *ops);
int __wrap_tcp_register_congestion_control(struct tcp_congestion_ops *ops);

int __wrap_tcp_register_congestion_control(struct tcp_congestion_ops *ops)
{
	if (!strcmp(ops->name, REGISTERS))
		strscpy(ops->name, NAME, sizeof(ops->name));
	return __real_tcp_register_congestion_control(ops);
}
