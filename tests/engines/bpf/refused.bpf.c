/* SPDX-License-Identifier: MIT OR GPL-2.0-only
 *
 * A CCA that the verifier refuses: it follows a pointer that it made up.
 * clang -target bpf -O2 -g -fdebug-compilation-dir=. -c refused.bpf.c && llvm-strip -g refused.bpf.o
 */
#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

struct sock {
} __attribute__((preserve_access_index));

struct tcp_congestion_ops {
	char name[16];
	__u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, __u32 ack, __u32 acked);
	__u32 (*undo_cwnd)(struct sock *sk);
};

SEC("struct_ops/ssthresh")
__u32 BPF_PROG(refused_ssthresh, struct sock *sk)
{
	return *(volatile __u32 *)0x1000;
}

SEC("struct_ops/cong_avoid")
void BPF_PROG(refused_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
}

SEC("struct_ops/undo_cwnd")
__u32 BPF_PROG(refused_undo_cwnd, struct sock *sk)
{
	return 10;
}

SEC(".struct_ops")
struct tcp_congestion_ops refused = {
	.name = "refused",
	.ssthresh = (void *)refused_ssthresh,
	.cong_avoid = (void *)refused_cong_avoid,
	.undo_cwnd = (void *)refused_undo_cwnd,
};

char _license[] SEC("license") = "Dual MIT/GPL";
