/* What waiting takes: sleep, wake, poll, busy, yield, in us. */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t told = PTHREAD_COND_INITIALIZER;
static atomic_int done, spun;

static long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

static void rest(long ms)
{
	nanosleep(&(struct timespec){ 0, ms * 1000000 }, NULL);
}

static void *waker(void *unused)
{
	rest(20);
	pthread_mutex_lock(&lock);
	done = 1;
	pthread_cond_signal(&told);
	pthread_mutex_unlock(&lock);
	return unused;
}

static void *setter(void *unused)
{
	rest(5);
	spun = 1;
	return unused;
}

static void say(const char *name, long since)
{
	printf("%s %ld\n", name, (now() - since) / 1000);
}

int main(void)
{
	pthread_t thread;
	long t = now();
	rest(20);
	say("sleep", t);

	t = now();
	pthread_create(&thread, NULL, waker, NULL);
	pthread_mutex_lock(&lock);
	while (!done)
		pthread_cond_wait(&told, &lock);
	pthread_mutex_unlock(&lock);
	say("wake", t);
	pthread_join(thread, NULL);

	t = now();
	poll(NULL, 0, 30);
	say("poll", t);

	t = now();
	while (now() - t < 5000000)
		;
	say("busy", t);

	t = now();
	pthread_create(&thread, NULL, setter, NULL);
	while (!spun)
		sched_yield();
	say("yield", t);
	pthread_join(thread, NULL);
	return 0;
}
