// Loaded into PostgreSQL before other libraries (LD_PRELOAD). The disk is full while the file named in the variable
// SOUK_FULL_DISK exists. As on a real full disk, existing parts of files can be overwritten, and no file can grow.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static int is_full(void) {
    static const char *flag;
    if (!flag) flag = getenv("SOUK_FULL_DISK");
    return flag && access(flag, F_OK) == 0;
}

// Returns whether a write of `count` bytes at the offset must fail because the file would grow. A negative offset means the
// file's current one.
static int refuses(int file, off_t offset, off_t count) {
    int before = errno, refused = 0;
    struct stat known;
    if (is_full() && fstat(file, &known) == 0 && S_ISREG(known.st_mode)) {
        if (offset < 0) offset = lseek(file, 0, fcntl(file, F_GETFL) & O_APPEND ? SEEK_END : SEEK_CUR);
        refused = offset + count > known.st_size;
    }
    errno = refused ? ENOSPC : before;
    return refused;
}

static off_t length(const struct iovec *parts, int number) {
    off_t sum = 0;
    for (int index = 0; index < number; index++) sum += (off_t)parts[index].iov_len;
    return sum;
}

ssize_t write(int file, const void *bytes, size_t count) {
    static ssize_t (*next)(int, const void *, size_t);
    if (!next) next = dlsym(RTLD_NEXT, "write");
    return refuses(file, -1, (off_t)count) ? -1 : next(file, bytes, count);
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) {
    static ssize_t (*next)(int, const void *, size_t, off_t);
    if (!next) next = dlsym(RTLD_NEXT, "pwrite");
    return refuses(file, offset, (off_t)count) ? -1 : next(file, bytes, count, offset);
}

ssize_t pwritev(int file, const struct iovec *parts, int number, off_t offset) {
    static ssize_t (*next)(int, const struct iovec *, int, off_t);
    if (!next) next = dlsym(RTLD_NEXT, "pwritev");
    return refuses(file, offset, length(parts, number)) ? -1 : next(file, parts, number, offset);
}

int posix_fallocate(int file, off_t offset, off_t count) {
    static int (*next)(int, off_t, off_t);
    if (!next) next = dlsym(RTLD_NEXT, "posix_fallocate");
    return refuses(file, offset, count) ? ENOSPC : next(file, offset, count);
}
