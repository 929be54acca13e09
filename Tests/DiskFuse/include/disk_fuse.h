#pragma once

// Calls a function, the judge, before the operations of this process that change a file or a folder: write, open with
// O_CREAT, fsync, ftruncate, mkdir, unlink, unlinkat, rmdir, rename and mkdtemp. The judge can kill the process or let the
// operation fail, for tests of the state that this leaves. Works on Linux; on other systems the judge is not called.

enum {
    // Executes the operation.
    SOUK_DISK_GO_ON = 0,
    // Kills the process (SIGKILL) before the operation.
    SOUK_DISK_DIE = -1,
    // With any other verdict, the operation fails with this error number.
};

// Returns the verdict on an operation, on the thread that calls the operation. `removes` is 1 for operations that need no
// free space, else 0. A write of several bytes has a second verdict. Unless this is SOUK_DISK_GO_ON, only the first half is
// written; then the process is killed, or the write returns the number of written bytes. Only writes to regular files count.
typedef int (*souk_disk_judge)(int removes);

// Sets the judge of this process; NULL removes it.
void souk_disk_watch(souk_disk_judge judge);
