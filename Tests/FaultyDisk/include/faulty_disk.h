#pragma once
#include <stdint.h>

// A disk under SQLite that can lose power and fail. Files inside its folder are written through to real files, and beside
// that it keeps what a disk would still have if the power went now: of each file what it held at its last successful sync.
//
// SQLite's default file system is wrapped once in the process; files outside every attached folder notice nothing.

typedef struct faulty_disk faulty_disk;

// Called before each operation that changes a file (write, truncate, sync, delete), on the thread that asks for it; the
// operations are counted from 1.
typedef void (*faulty_disk_observer)(void *context, int64_t operation);

// Watches a folder, which exists. What is in its files already counts as synced when they are first opened. Returns NULL
// when there is no such folder or no memory.
faulty_disk *faulty_disk_attach(const char *folder, faulty_disk_observer observer, void *context);

// Ends the watching. No file of the folder may be open any more.
void faulty_disk_detach(faulty_disk *disk);

// How many operations there were.
int64_t faulty_disk_operations(faulty_disk *disk);

// Makes the operation `first` fail, and those after it too if `for_ever`. A write that fails has written its first half; a
// sync that fails has synced nothing, and what it was to sync stays lost until it is written again, as with Linux.
void faulty_disk_fail(faulty_disk *disk, int64_t first, int for_ever);

// Writes to another folder, which exists, what would be left if the power went now, each file under its name. Of what was never synced nothing
// survives for seed 0; for other seeds about half does, sector by sector, chosen by the seed. Returns 0, or -1 when a file
// cannot be written.
int faulty_disk_write_image(faulty_disk *disk, const char *folder, uint64_t seed);
