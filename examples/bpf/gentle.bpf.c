/* SPDX-License-Identifier: MIT OR GPL-2.0-only
 *
 * A congestion control algorithm as a BPF program: Reno that gives way gently. On a congestion event
 * the window becomes 7/8 of itself instead of half of it; slow start and growth are Reno's.
 *
 *     make -C examples/bpf     # needs clang, llvm and libbpf-dev of Debian
 */
#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/* Only what is used of the kernel's types: names matter, offsets are found when it is loaded. */
struct sock {
} __attribute__((preserve_access_index));

struct tcp_sock {
	__u32 snd_cwnd;
} __attribute__((preserve_access_index));

struct tcp_congestion_ops {
	char name[16];
	__u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, __u32 ack, __u32 acked);
	__u32 (*undo_cwnd)(struct sock *sk);
};

extern void tcp_reno_cong_avoid(struct sock *sk, __u32 ack, __u32 acked) __ksym;
extern __u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;

SEC("struct_ops/ssthresh")
__u32 BPF_PROG(gentle_ssthresh, struct sock *sk)
{
	__u32 window = ((struct tcp_sock *)sk)->snd_cwnd;
	__u32 reduced = window - window / 8;

	return reduced > 2 ? reduced : 2;
}

SEC("struct_ops/cong_avoid")
void BPF_PROG(gentle_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	tcp_reno_cong_avoid(sk, ack, acked);
}

SEC("struct_ops/undo_cwnd")
__u32 BPF_PROG(gentle_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops")
struct tcp_congestion_ops gentle = {
	.name = "gentle",
	.ssthresh = (void *)gentle_ssthresh,
	.cong_avoid = (void *)gentle_cong_avoid,
	.undo_cwnd = (void *)gentle_undo_cwnd,
};

char _license[] SEC("license") = "Dual MIT/GPL";
