/*
 * Takes what Linux counts for a user until it gets no more: timers, each of which takes one of the
 * user's pending signals, processes, and open files on their way through sockets. Says how many it
 * got, and keeps them until its standard input ends.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Sends descriptors that nobody receives; returns how many. */
static int fly(void)
{
	char byte = 0, room[CMSG_SPACE(100 * sizeof(int))];
	int total = 0, pair[2], i;

	while (total < 200000 && !socketpair(AF_UNIX, SOCK_DGRAM, 0, pair)) {
		struct iovec data = { &byte, 1 };
		struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1,
					  .msg_control = room, .msg_controllen = sizeof(room) };
		struct cmsghdr *head = CMSG_FIRSTHDR(&message);
		int *sent = (int *)CMSG_DATA(head);

		head->cmsg_level = SOL_SOCKET;
		head->cmsg_type = SCM_RIGHTS;
		head->cmsg_len = CMSG_LEN(100 * sizeof(int));
		for (i = 0; i < 100; i++)
			sent[i] = pair[0];
		for (i = 0; sendmsg(pair[1], &message, MSG_DONTWAIT) >= 0; i++)
			total += 100;
		if (!i)
			return total;
	}
	return total;
}

int main(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	int timers = 0, processes = 0, id, child;
	char byte;

	while (timers < 200000 && !syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &id))
		timers++;
	while (processes < 20000 && (child = fork()) >= 0) {
		if (!child)
			return read(0, &byte, 1) < 0;
		processes++;
	}
	printf("%d %d %d\n", timers, processes, fly());
	fflush(stdout);
	return read(0, &byte, 1) < 0;
}
