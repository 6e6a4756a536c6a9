/* Makes raw system calls, the reference for the load generator's cost. Reads no clock and records
 * nothing. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static double cpu_s(void) {
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return used.ru_utime.tv_sec + used.ru_stime.tv_sec +
           1e-6 * (used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

static void die(const char *what) {
    perror(what);
    exit(1);
}

/* Reads 4 KiB at random offsets of a file. */
static void reads(const char *path, long count) {
    static char buffer[4096] __attribute__((aligned(4096)));
    int file = open(path, O_RDONLY);
    if (file < 0) die(path);
    uint64_t blocks = (uint64_t)lseek(file, 0, SEEK_END) / 4096, state = 88172645463325252ull;
    for (long turn = 0; turn < count; turn++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        if (pread(file, buffer, 4096, (off_t)(state % blocks) * 4096) != 4096) die("pread");
    }
    close(file);
}

/* Creates and closes, stats, and unlinks files. Each of these steps counts as one operation. */
static void names(const char *folder, long count) {
    char path[4096];
    struct stat seen;
    if (chdir(folder)) die(folder);
    for (long turn = 0; turn < count / 3; turn++) {
        snprintf(path, sizeof path, "c0/f%ld", turn);
        int file = open(path, O_WRONLY | O_CREAT | O_EXCL, 0666);
        if (file < 0 || close(file)) die(path);
        if (lstat(path, &seen)) die(path);
        if (unlink(path)) die(path);
    }
}

int main(int count, char **words) {
    if (count != 4) return 2;
    long turns = atol(words[3]);
    double before = cpu_s();
    if (!strcmp(words[1], "reads")) reads(words[2], turns);
    else names(words[2], turns);
    printf("%.9f\n", cpu_s() - before);
    return 0;
}
