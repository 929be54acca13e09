#define _GNU_SOURCE
#include "disk_fuse.h"

#include <stdatomic.h>
#include <stddef.h>

static _Atomic(souk_disk_judge) judge;

void souk_disk_watch(souk_disk_judge new_judge) { atomic_store(&judge, new_judge); }

#ifdef __linux__

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// Functions of a program with these names replace those of the system, also for the libraries that the program links.

static int verdict(int removes) {
    souk_disk_judge present = atomic_load(&judge);
    int before = errno;
    int result = present ? present(removes) : SOUK_DISK_GO_ON;
    errno = before;
    return result;
}

static void die(void) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

// Returns whether the operation is_allowed be executed. Otherwise sets errno, or kills the process.
static int is_allowed(int removes) {
    int result = verdict(removes);
    if (result == SOUK_DISK_DIE) die();
    if (result == SOUK_DISK_GO_ON) return 1;
    errno = result;
    return 0;
}

static int is_watched_file(int file) {
    struct stat status;
    return atomic_load(&judge) && fstat(file, &status) == 0 && S_ISREG(status.st_mode);
}

ssize_t write(int file, const void *bytes, size_t count) {
    if (!is_watched_file(file)) return syscall(SYS_write, file, bytes, count);
    if (!is_allowed(0)) return -1;
    int second = verdict(0);
    if (second == SOUK_DISK_GO_ON || count < 2) return syscall(SYS_write, file, bytes, count);
    ssize_t written = syscall(SYS_write, file, bytes, count / 2);
    if (second == SOUK_DISK_DIE) die();
    return written;
}

int open(const char *path, int flags, ...) {
    mode_t mode = 0;
    if ((flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE) {
        va_list rest;
        va_start(rest, flags);
        mode = va_arg(rest, mode_t);
        va_end(rest);
    }
    if ((flags & O_CREAT) && !is_allowed(0)) return -1;
    return syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int fsync(int file) { return is_allowed(0) ? syscall(SYS_fsync, file) : -1; }
int ftruncate(int file, off_t length) { return is_allowed(1) ? syscall(SYS_ftruncate, file, length) : -1; }
int mkdir(const char *path, mode_t mode) { return is_allowed(0) ? syscall(SYS_mkdirat, AT_FDCWD, path, mode) : -1; }
int unlink(const char *path) { return is_allowed(1) ? syscall(SYS_unlinkat, AT_FDCWD, path, 0) : -1; }
int rmdir(const char *path) { return is_allowed(1) ? syscall(SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR) : -1; }
int unlinkat(int folder, const char *path, int flags) {
    return is_allowed(1) ? syscall(SYS_unlinkat, folder, path, flags) : -1;
}
int rename(const char *from, const char *to) {
    return is_allowed(0) ? syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0) : -1;
}

char *mkdtemp(char *template) {
    static char *(*system_mkdtemp)(char *);
    if (!system_mkdtemp) system_mkdtemp = (char *(*)(char *))dlsym(RTLD_NEXT, "mkdtemp");
    return is_allowed(0) ? system_mkdtemp(template) : NULL;
}

#endif
