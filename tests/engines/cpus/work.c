/* Computes what a C library has other code for on other CPUs, with threads, and says when it was
   done. */
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void *part(void *number) {
    double sum = 0, *found = malloc(sizeof *found);
    for (int i = 1; i < 2000; i++)
        sum += exp(-i * 0.013) + sin(i * 0.7) * pow(i, 1 / 3.) + log(i + (long)number);
    *found = sum;
    return found;
}

static int compared(const void *a, const void *b) { return strcmp(a, b); }

int main(void) {
    pthread_t threads[4];
    static char words[500][16];
    uint32_t hash = 2166136261;
    for (long i = 0; i < 4; i++) pthread_create(&threads[i], NULL, part, (void *)i);
    for (int i = 0; i < 4; i++) {
        void *found;
        pthread_join(threads[i], &found);
        printf("%a\n", *(double *)found);
    }
    for (int i = 0; i < 500; i++) snprintf(words[i], sizeof words[i], "%d.%g", i * 7919 % 500, i / 7.);
    qsort(words, 500, sizeof words[0], compared);
    for (int i = 0; i < 500; i++)
        for (size_t n = 0; n < strlen(words[i]); n++) hash = (hash ^ words[i][n]) * 16777619;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    printf("%x %ld.%09ld\n", hash, now.tv_sec, now.tv_nsec);
}
