// SPDX-License-Identifier: GPL-2.0
/*
 * Additive increase, multiplicative decrease, as textbooks have it (Chiu and Jain, 1989): the
 * window grows by `gain` packets in a round trip, and a loss leaves `keep` of 1024 parts of it.
 * With the defaults it is Reno.
 */
#include <linux/module.h>
#include <net/tcp.h>

static unsigned int gain = 1;
module_param(gain, uint, 0444);
MODULE_PARM_DESC(gain, "packets that the window grows by in a round trip");

static unsigned int keep = 512;
module_param(keep, uint, 0444);
MODULE_PARM_DESC(keep, "what a loss leaves of the window, in 1/1024");

static u32 aimd_ssthresh(struct sock *sk)
{
	return max(tcp_snd_cwnd(tcp_sk(sk)) * keep / 1024, 2U);
}

static void aimd_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	/* A packet for every cwnd / gain that are acknowledged. */
	tcp_cong_avoid_ai(tp, max(tcp_snd_cwnd(tp) / gain, 1U), acked);
}

static struct tcp_congestion_ops aimd __read_mostly = {
	.name = "aimd",
	.owner = THIS_MODULE,
	.ssthresh = aimd_ssthresh,
	.cong_avoid = aimd_cong_avoid,
	.undo_cwnd = tcp_reno_undo_cwnd,
};

static int __init aimd_register(void)
{
	if (!gain || gain > 1000 || !keep || keep > 1024)
		return -EINVAL;
	return tcp_register_congestion_control(&aimd);
}

static void __exit aimd_unregister(void)
{
	tcp_unregister_congestion_control(&aimd);
}

module_init(aimd_register);
module_exit(aimd_unregister);
MODULE_DESCRIPTION("Additive increase, multiplicative decrease");
MODULE_LICENSE("GPL");
