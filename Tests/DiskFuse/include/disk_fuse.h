#pragma once

// Stands between this process and its disk: asked before each operation that changes a file or a folder, for tests of what
// is left when a process is killed there or the disk fails. On Linux only; elsewhere nothing is watched.

enum {
    SOUK_DISK_GO_ON = 0,
    // The process is killed (SIGKILL); a write has written its first half then.
    SOUK_DISK_DIE = -1,
    // Any other verdict is the error number the operation fails with; a write may write its first half first.
};

// Says what becomes of an operation, on the thread that asks for it. `removes` is not 0 for operations that need no space.
typedef int (*souk_disk_judge)(int removes);

// NULL watches nothing.
void souk_disk_watch(souk_disk_judge judge);
