// Loaded into a program before other libraries (LD_PRELOAD). Counts the operations that change files in the folder
// SOUK_DISK_FOLDER, from 1. At operation SOUK_DISK_KILL the program is killed. From operation SOUK_DISK_FULL on, no file
// can be created or grow. A write counts twice: as two halves, each of which can be the last.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_long count;

static long setting(const char *name) {
    const char *text = getenv(name);
    return text ? atol(text) : 0;
}

static int is_inside(const char *path) {
    const char *folder = getenv("SOUK_DISK_FOLDER");
    return folder && path && strncmp(path, folder, strlen(folder)) == 0;
}

static int is_file_inside(int file) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    int before = errno;
    ssize_t length = readlink(link, path, sizeof path - 1);
    errno = before;
    if (length < 0) return 0;
    path[length] = 0;
    return is_inside(path);
}

static int is_allowed(int grows) {
    long number = atomic_fetch_add(&count, 1) + 1;
    if (number == setting("SOUK_DISK_KILL")) {
        kill(getpid(), SIGKILL);
        for (;;) pause();
    }
    long full = setting("SOUK_DISK_FULL");
    if (!grows || !full || number < full) return 1;
    errno = ENOSPC;
    return 0;
}

static int opened(const char *path, int flags, mode_t mode) {
    if ((flags & O_CREAT) && is_inside(path) && !is_allowed(1)) return -1;
    return syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int open(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return opened(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return opened(path, flags, mode);
}

ssize_t write(int file, const void *bytes, size_t length) {
    if (!is_file_inside(file)) return syscall(SYS_write, file, bytes, length);
    if (!is_allowed(1)) return -1;
    size_t half = length / 2;
    ssize_t written = half ? syscall(SYS_write, file, bytes, half) : 0;
    if (written != (ssize_t)half || !is_allowed(1)) return written > 0 ? written : -1;
    ssize_t rest = syscall(SYS_write, file, (const char *)bytes + half, length - half);
    return rest < 0 ? (written > 0 ? written : -1) : written + rest;
}

int fsync(int file) { return is_file_inside(file) && !is_allowed(1) ? -1 : syscall(SYS_fsync, file); }

int rename(const char *from, const char *to) {
    return is_inside(to) && !is_allowed(0) ? -1 : syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int unlink(const char *path) {
    return is_inside(path) && !is_allowed(0) ? -1 : syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

int truncate(const char *path, off_t length) {
    return is_inside(path) && !is_allowed(0) ? -1 : syscall(SYS_truncate, path, length);
}
