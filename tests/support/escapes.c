/*
 * What a broken-out guest would try on the host. Prints a line per try: its name and the error, or what it got.
 * Arguments: a process of the host, then the numbers of the system calls that are allowed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define HIGHEST 1024 /* Linux 7 has about 470 system calls */
#define X32 0x40000000L
/* Linux never filters these two, which are for its own code in a traced program; elsewhere they raise SIGILL. */
#define URETPROBE 335
#define UPROBE 336

static void tell(const char *name, long result)
{
	if (result == -1)
		printf("%s: %s\n", name, strerrorname_np(errno));
	else
		printf("%s: %ld\n", name, result);
	fflush(stdout);
}

#define TRY(name, ...) tell(name, syscall(__VA_ARGS__))

static void open_for(const char *path, int flags)
{
	char name[256];

	snprintf(name, sizeof(name), "%s %s", flags & O_CREAT ? "create" : flags ? "write" : "read", path);
	TRY(name, SYS_openat, AT_FDCWD, path, flags, 0600);
}

static void files(void)
{
	open_for("/etc/passwd", O_RDONLY);
	open_for("/etc/shadow", O_RDONLY);
	open_for("/root", O_RDONLY);
	open_for("/tmp", O_RDONLY);
	open_for("/sys", O_RDONLY);
	open_for("/proc/self/status", O_RDONLY);
	open_for("/proc/1/root", O_RDONLY);
	open_for("/proc/sys/kernel/core_pattern", O_WRONLY);
	open_for("/proc/sysrq-trigger", O_WRONLY);
	open_for("/dev/mem", O_RDONLY);
	open_for("/dev/ptmx", O_RDWR);
	open_for("/kernel", O_WRONLY);
	open_for("initrd", O_WRONLY);
	open_for("/new", O_WRONLY | O_CREAT);
	open_for("/dev/new", O_WRONLY | O_CREAT);
	open_for("/proc/new", O_WRONLY | O_CREAT);
	TRY("make a folder in /", SYS_mkdir, "/new", 0700);
	open_for("/cell/new", O_WRONLY | O_CREAT);
	TRY("make a folder in /cell", SYS_mkdir, "/cell/new", 0700);
	int fd = syscall(SYS_openat, AT_FDCWD, "exchange", O_RDWR);
	TRY("write the exchange", SYS_pwrite64, fd, "x", 1, 0L);
	TRY("write beyond the limit", SYS_pwrite64, fd, "x", 1, 1L << 40);
	fd = syscall(SYS_memfd_create, "large", 0);
	TRY("more memory than the limit", SYS_pwrite64, fd, "x", 1, 1L << 40);
}

static void processes(int host_process)
{
	struct rlimit none = { RLIM_INFINITY, RLIM_INFINITY };

	TRY("signal a process of the host", SYS_kill, host_process, 0);
	TRY("attach to the parent", SYS_ptrace, PTRACE_ATTACH, getppid(), 0, 0);
	TRY("seize the parent", SYS_ptrace, PTRACE_SEIZE, getppid(), 0, 0);
	TRY("a user namespace by clone", SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
	TRY("a network namespace by clone", SYS_clone, CLONE_NEWNET | SIGCHLD, 0, 0, 0, 0);
	TRY("a listener", SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, 0);
	TRY("strict mode", SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, 0);
	TRY("a subreaper", SYS_prctl, PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	TRY("ambient capabilities", SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, 21, 0, 0);
	TRY("executable data", SYS_personality, READ_IMPLIES_EXEC);
	TRY("larger files", SYS_prlimit64, 0, RLIMIT_FSIZE, &none, 0);
	TRY("more pending signals", SYS_prlimit64, 0, RLIMIT_SIGPENDING, &none, 0);
	TRY("more processes", SYS_prlimit64, 0, RLIMIT_NPROC, &none, 0);
	TRY("locked memory", SYS_mmap, 0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED,
	    -1, 0);
	TRY("a core", SYS_prlimit64, 0, RLIMIT_CORE, &none, 0);
	TRY("type into a terminal", SYS_ioctl, 1, TIOCSTI, "x");
	TRY("a pair of internet sockets", SYS_socketpair, AF_INET, SOCK_STREAM, 0, 0);
	TRY("execute a program of the host", SYS_execve, "/bin/sh", 0, 0);
}

static void calls(void)
{
	TRY("mount", SYS_mount, "none", "/cell", "tmpfs", 0, 0);
	TRY("umount", SYS_umount2, "/cell", 0);
	TRY("pivot_root", SYS_pivot_root, ".", ".");
	TRY("chroot", SYS_chroot, ".");
	TRY("open_tree", SYS_open_tree, AT_FDCWD, "/", 0);
	TRY("fsopen", SYS_fsopen, "tmpfs", 0);
	TRY("unshare", SYS_unshare, CLONE_NEWUSER);
	TRY("setns", SYS_setns, 0, 0);
	TRY("clone3", SYS_clone3, 0, 0);
	TRY("setuid", SYS_setuid, 0);
	TRY("capset", SYS_capset, 0, 0);
	TRY("mknod", SYS_mknod, "device", 0, 0);
	TRY("chmod", SYS_chmod, "exchange", 06777);
	TRY("link", SYS_link, "exchange", "other");
	TRY("open_by_handle_at", SYS_open_by_handle_at, 0, 0, 0);
	TRY("process_vm_readv", SYS_process_vm_readv, getppid(), 0, 0, 0, 0, 0);
	TRY("pidfd_open", SYS_pidfd_open, getppid(), 0);
	TRY("keyctl", SYS_keyctl, 0, -3, 1);
	TRY("add_key", SYS_add_key, "user", "x", "x", 1, -3);
	TRY("bpf", SYS_bpf, 0, 0, 0);
	TRY("perf_event_open", SYS_perf_event_open, 0, 0, -1, -1, 0);
	TRY("io_uring_setup", SYS_io_uring_setup, 1, 0);
	TRY("io_setup", SYS_io_setup, 1, 0);
	TRY("userfaultfd", SYS_userfaultfd, 0);
	TRY("socket", SYS_socket, AF_INET, SOCK_STREAM, 0);
	TRY("netlink", SYS_socket, AF_NETLINK, SOCK_RAW, 0);
	TRY("unix socket", SYS_socket, AF_UNIX, SOCK_STREAM, 0);
	TRY("shmget", SYS_shmget, 0, 4096, 01600);
	TRY("init_module", SYS_init_module, 0, 0, "");
	TRY("kexec_load", SYS_kexec_load, 0, 0, 0, 0);
	TRY("syslog", SYS_syslog, 3, 0, 0);
	TRY("sched_setscheduler", SYS_sched_setscheduler, 0, 0, 0);
	TRY("mlock", SYS_mlock, 0, 0);
	TRY("truncate", SYS_ftruncate, 1, 0);
}

/* Every call that is not allowed, and those of the two other tables of the processor. */
static void all_numbers(char **allowed)
{
	long result;

	for (long number = 0; number < HIGHEST; number++) {
		char **each = allowed;

		while (*each && atol(*each) != number)
			each++;
		if (number == URETPROBE || number == UPROBE)
			continue;
		if (!*each && (syscall(number, 0, 0, 0, 0, 0, 0) != -1 || errno != ENOSYS))
			printf("number %ld: %s\n", number, strerrorname_np(errno));
	}
	TRY("x32", X32 | SYS_getpid);
	__asm__ volatile("int $0x80" : "=a"(result) : "a"(20 /* getpid */) : "memory");
	printf("i386: %ld\n", result);
}

int main(int count, char **arguments)
{
	signal(SIGXFSZ, SIG_IGN);
	setvbuf(stdout, 0, _IOLBF, 0);
	for (int child = 0; child < 2; child++) {
		if (child && syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)) {
			wait(0);
			break;
		}
		printf("%s\n", child ? "a child:" : "the program:");
		files();
		processes(atoi(arguments[1]));
		calls();
		all_numbers(arguments + 2);
	}
	return count < 2;
}
