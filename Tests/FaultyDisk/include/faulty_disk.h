#pragma once
#include <stdint.h>

// A disk under SQLite that can lose power and fail. Writes to files in its folder change the real files. In addition, the
// disk keeps the content that each file would have after a power cut: that of its last successful sync.
//
// The first disk wraps SQLite's default file system for the whole process. Files outside attached folders are not affected.

typedef struct faulty_disk faulty_disk;

// Called before each write, truncation, sync and deletion of a file, on the calling thread. The first operation has the
// number 1.
typedef void (*faulty_disk_observer)(void *context, int64_t operation);

// Attaches a disk to an existing folder. The content that a file has when it is first opened counts as synced. Returns NULL
// if the folder cannot be resolved.
faulty_disk *faulty_disk_attach(const char *folder, faulty_disk_observer observer, void *context);

// Detaches the disk. All files of the folder must be closed.
void faulty_disk_detach(faulty_disk *disk);

// Returns the number of operations so far.
int64_t faulty_disk_operations(faulty_disk *disk);

// Makes the operation with the number `first` fail, and with `for_ever` all later ones too. A failed write has written its
// first half. A failed sync has synced nothing. As on Linux, a later sync does not sync that data unless it is written again.
void faulty_disk_fail(faulty_disk *disk, int64_t first, int for_ever);

// Writes the files that a power cut would leave now to another existing folder, under their names. With seed 0, they have
// no data that was not synced. With another seed, they have about half of it: random sectors that depend on the seed.
// Returns 0, or -1 if a file cannot be written.
int faulty_disk_write_image(faulty_disk *disk, const char *folder, uint64_t seed);
