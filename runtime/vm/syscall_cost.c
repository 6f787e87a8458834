// SPDX-License-Identifier: GPL-2.0
/*
 * The cost of a system call on the engine `vm`: at its entry the processor computes for so long on
 * behalf of its caller. Computed is a loop of two instructions, whose speed is measured when the
 * module is loaded; on a machine whose clock counts instructions that is exact. An interrupt in
 * between takes its own time in addition.
 */
#include <linux/irqflags.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/timex.h>
#include <linux/tracepoint.h>
#include <asm/tsc.h>

#define MEASURED 100000UL

static unsigned int cost_ns;
module_param(cost_ns, uint, 0444);

static unsigned long turns;

static __always_inline void compute(unsigned long number)
{
	asm volatile("1: dec %0\n\tjnz 1b" : "+r"(number) : : "cc");
}

static void charge(void *data, struct pt_regs *regs, long number)
{
	compute(turns);
}

static void find(struct tracepoint *each, void *found)
{
	if (!strcmp(each->name, "sys_enter"))
		*(struct tracepoint **)found = each;
}

static int __init syscall_cost_init(void)
{
	struct tracepoint *entry = NULL;
	unsigned long flags;
	u64 cycles;

	local_irq_save(flags);
	cycles = get_cycles();
	compute(MEASURED);
	cycles = get_cycles() - cycles;
	local_irq_restore(flags);
	/* Cycles last 10^6 / tsc_khz ns. */
	turns = max(1ULL, div64_u64((u64)cost_ns * MEASURED * tsc_khz, cycles * 1000000));
	for_each_kernel_tracepoint(find, &entry);
	return entry ? tracepoint_probe_register(entry, charge, NULL) : -ENOENT;
}
module_init(syscall_cost_init);
MODULE_DESCRIPTION("Time for each system call");
MODULE_LICENSE("GPL");
