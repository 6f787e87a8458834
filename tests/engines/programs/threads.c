/* A server and a client of 1 MB over TCP, with threads that poll, yield and wait for each other. */
#include <arpa/inet.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SIZE 1000000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int done;
static long turns[4];

static void *turn(void *argument)
{
    long me = (long)argument;

    while (!done) {
        pthread_mutex_lock(&lock);
        turns[me]++;
        pthread_mutex_unlock(&lock);
        for (int n = 0; me % 2 && n < 10; n++)
            sched_yield();
        usleep(1000);
    }
    return NULL;
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

int main(int count, char **words)
{
    static char buffer[SIZE];
    int ours = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    struct sockaddr_in place = {.sin_family = AF_INET, .sin_port = htons(atoi(words[1]))};
    pthread_t threads[4];
    long received = 0, part;
    double begin = now();

    if (count < 3) {
        setsockopt(ours, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
        if (bind(ours, (void *)&place, sizeof(place)) || listen(ours, 8))
            return 1;
        for (;;) {
            int peer = accept(ours, NULL, NULL);

            for (long sent = 0; sent < SIZE; sent += part)
                if ((part = write(peer, buffer, SIZE - sent)) <= 0)
                    return 2;
            close(peer);
        }
    }
    for (long n = 0; n < 4; n++)
        pthread_create(&threads[n], NULL, turn, (void *)n);
    inet_aton(words[2], &place.sin_addr);
    if (connect(ours, (void *)&place, sizeof(place)))
        return 3;
    while ((part = read(ours, buffer, SIZE)) > 0)
        received += part;
    done = 1;
    for (long n = 0; n < 4; n++)
        pthread_join(threads[n], NULL);
    printf("received %ld in %.9f s; turns %ld %ld %ld %ld\n", received, now() - begin, turns[0],
           turns[1], turns[2], turns[3]);
    return 0;
}
