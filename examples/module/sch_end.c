// SPDX-License-Identifier: GPL-2.0
/* A FIFO that, when it is full, drops at either end: the packet that has waited longest (head=1, as in T. V. Lakshman,
 * A. Neidhardt and T. J. Ott, The drop from front strategy in TCP and in TCP over ATM, INFOCOM 1996), or the one that
 * arrives (head=0), which is what `fifo` does.
 */
#include <linux/module.h>
#include <linux/skbuff.h>
#include <net/pkt_sched.h>

static bool head = true;
module_param(head, bool, 0444);
MODULE_PARM_DESC(head, "drop the packet that has waited longest, not the one that arrives");

static int end_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	if (likely(sch->q.qlen < sch->limit))
		return qdisc_enqueue_tail(skb, sch);
	if (!head)
		return qdisc_drop(skb, sch, to_free);
	qdisc_qstats_drop(sch);
	__qdisc_queue_drop_head(sch, &sch->q, to_free);
	qdisc_enqueue_tail(skb, sch);
	return NET_XMIT_CN;
}

/* fairc writes the queue's `limit` into the length of its interface's queue. */
static int end_init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	sch->limit = qdisc_dev(sch)->tx_queue_len;
	return 0;
}

static struct Qdisc_ops end_ops __read_mostly = {
	.id = "end",
	.priv_size = 0,
	.enqueue = end_enqueue,
	.dequeue = qdisc_dequeue_head,
	.peek = qdisc_peek_head,
	.init = end_init,
	.reset = qdisc_reset_queue,
	.owner = THIS_MODULE,
};

static int __init end_register(void)
{
	return register_qdisc(&end_ops);
}

static void __exit end_unregister(void)
{
	unregister_qdisc(&end_ops);
}

module_init(end_register);
module_exit(end_unregister);
MODULE_LICENSE("GPL");
