#include "faulty_disk.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SECTOR = 512 };

// A change to a file since its last sync: bytes at an offset, or, without bytes, `offset` as the new length.
typedef struct change {
    struct change *next;
    sqlite3_int64 offset;
    size_t count;
    unsigned char bytes[];
} change;

// A file with its synced content, which survives a power cut, and the changes since, which may be lost.
typedef struct image {
    struct image *next;
    char *path;
    // Whether the file exists, and whether it would exist after a power cut. A creation or a deletion survives a power cut
    // only after the folder is synced.
    int exists, exists_after_power_cut;
    unsigned char *bytes;
    size_t count;
    change *first, **last;
} image;

struct faulty_disk {
    struct faulty_disk *next;
    char *folder;
    size_t folder_length;
    faulty_disk_observer observer;
    void *context;
    pthread_mutex_t mutex;
    int64_t operations, first_failure;
    int fails_for_ever;
    image *images;
};

// SQLite's file, and behind it the file of the wrapped system.
typedef struct {
    sqlite3_file base;
    faulty_disk *disk;
    image *image;
    // Whether the next sync also syncs the folder. SQLite does so at the first sync of a journal or log that it created.
    int syncs_folder;
} file;

static sqlite3_vfs *wrapped;
static sqlite3_vfs wrapper;
static pthread_mutex_t disks_mutex = PTHREAD_MUTEX_INITIALIZER;
static faulty_disk *disks;

static sqlite3_file *inner(sqlite3_file *f) { return (sqlite3_file *)((file *)f + 1); }
static const sqlite3_io_methods *methods(sqlite3_file *f) { return inner(f)->pMethods; }

// MARK: - Content after a power cut

static void *require(void *memory) {
    if (memory == NULL) abort();
    return memory;
}

static void record_change(image *image, sqlite3_int64 offset, const void *bytes, size_t count) {
    change *made = require(malloc(sizeof(change) + count));
    *made = (change){.offset = offset, .count = count};
    if (count > 0) memcpy(made->bytes, bytes, count);
    *image->last = made;
    image->last = &made->next;
}

static void resize(unsigned char **bytes, size_t *count, size_t wanted) {
    if (wanted > *count) {
        *bytes = require(realloc(*bytes, wanted));
        memset(*bytes + *count, 0, wanted - *count);
    }
    *count = wanted;
}

static void place(unsigned char **bytes, size_t *count, size_t offset, const unsigned char *source, size_t length) {
    if (offset + length > *count) resize(bytes, count, offset + length);
    memcpy(*bytes + offset, source, length);
}

static void forget_changes(image *image) {
    while (image->first != NULL) {
        change *next = image->first->next;
        free(image->first);
        image->first = next;
    }
    image->last = &image->first;
}

static void make_durable(image *image) {
    for (change *c = image->first; c != NULL; c = c->next) {
        if (c->count == 0) resize(&image->bytes, &image->count, (size_t)c->offset);
        else place(&image->bytes, &image->count, (size_t)c->offset, c->bytes, c->count);
    }
    forget_changes(image);
}

static void sync_folder(faulty_disk *disk) {
    for (image *image = disk->images; image != NULL; image = image->next) {
        image->exists_after_power_cut = image->exists;
        if (!image->exists) image->count = 0;
    }
}

static int random_bit(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (int)(*state >> 40 & 1);
}

static int write_file(image *image, const char *path, uint64_t *state) {
    unsigned char *bytes = NULL;
    size_t count = 0;
    int survives = image->exists_after_power_cut;
    resize(&bytes, &count, image->count);
    if (count > 0) memcpy(bytes, image->bytes, count);
    if (*state != 0) {
        if (survives != image->exists) survives = random_bit(state);
        for (change *c = image->first; c != NULL; c = c->next) {
            if (c->count == 0) {
                if (random_bit(state)) resize(&bytes, &count, (size_t)c->offset);
                continue;
            }
            for (size_t done = 0; done < c->count;) {
                size_t start = (size_t)c->offset + done, length = SECTOR - start % SECTOR;
                if (length > c->count - done) length = c->count - done;
                if (random_bit(state)) place(&bytes, &count, start, c->bytes + done, length);
                done += length;
            }
        }
    }
    int result = 0;
    if (survives) {
        FILE *out = fopen(path, "wb");
        if (out == NULL || fwrite(bytes, 1, count, out) != count) result = -1;
        if (out != NULL && fclose(out) != 0) result = -1;
    }
    free(bytes);
    return result;
}

int faulty_disk_write_image(faulty_disk *disk, const char *folder, uint64_t seed) {
    int result = 0;
    pthread_mutex_lock(&disk->mutex);
    for (image *image = disk->images; image != NULL; image = image->next) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, strrchr(image->path, '/') + 1);
        uint64_t state = seed;
        for (const char *c = image->path; *c != 0 && seed != 0; c++) state = state * 31 + (unsigned char)*c + 1;
        if (write_file(image, path, &state) != 0) result = -1;
    }
    pthread_mutex_unlock(&disk->mutex);
    return result;
}

// MARK: - Operations

// Counts an operation, calls the observer, and returns whether the operation must fail.
static int begin_operation(faulty_disk *disk) {
    pthread_mutex_lock(&disk->mutex);
    int64_t number = ++disk->operations;
    int fails = disk->first_failure > 0
        && (number == disk->first_failure || (disk->fails_for_ever && number > disk->first_failure));
    pthread_mutex_unlock(&disk->mutex);
    if (disk->observer != NULL) disk->observer(disk->context, number);
    return fails;
}

static int disk_close(sqlite3_file *f) { return methods(f)->xClose(inner(f)); }

static int disk_read(sqlite3_file *f, void *bytes, int count, sqlite3_int64 offset) {
    return methods(f)->xRead(inner(f), bytes, count, offset);
}

static int disk_write(sqlite3_file *f, const void *bytes, int count, sqlite3_int64 offset) {
    file *self = (file *)f;
    int fails = begin_operation(self->disk);
    int written = fails ? count / 2 : count;
    int result = written > 0 ? methods(f)->xWrite(inner(f), bytes, written, offset) : SQLITE_OK;
    if (result == SQLITE_OK && written > 0) {
        pthread_mutex_lock(&self->disk->mutex);
        record_change(self->image, offset, bytes, (size_t)written);
        pthread_mutex_unlock(&self->disk->mutex);
    }
    return fails ? SQLITE_FULL : result;
}

static int disk_truncate(sqlite3_file *f, sqlite3_int64 size) {
    file *self = (file *)f;
    if (begin_operation(self->disk)) return SQLITE_IOERR_TRUNCATE;
    int result = methods(f)->xTruncate(inner(f), size);
    if (result == SQLITE_OK) {
        pthread_mutex_lock(&self->disk->mutex);
        record_change(self->image, size, NULL, 0);
        pthread_mutex_unlock(&self->disk->mutex);
    }
    return result;
}

static int disk_sync(sqlite3_file *f, int flags) {
    file *self = (file *)f;
    int fails = begin_operation(self->disk);
    // The real files are not synced. The tests read only the images after a power cut.
    (void)flags;
    pthread_mutex_lock(&self->disk->mutex);
    if (fails) forget_changes(self->image);
    else make_durable(self->image);
    if (!fails && self->syncs_folder) sync_folder(self->disk);
    if (!fails) self->syncs_folder = 0;
    pthread_mutex_unlock(&self->disk->mutex);
    return fails ? SQLITE_IOERR_FSYNC : SQLITE_OK;
}

static int disk_size(sqlite3_file *f, sqlite3_int64 *size) { return methods(f)->xFileSize(inner(f), size); }
static int disk_lock(sqlite3_file *f, int level) { return methods(f)->xLock(inner(f), level); }
static int disk_unlock(sqlite3_file *f, int level) { return methods(f)->xUnlock(inner(f), level); }
static int disk_reserved(sqlite3_file *f, int *result) { return methods(f)->xCheckReservedLock(inner(f), result); }
static int disk_control(sqlite3_file *f, int op, void *argument) {
    return methods(f)->xFileControl(inner(f), op, argument);
}
static int disk_sector_size(sqlite3_file *f) { return methods(f)->xSectorSize(inner(f)); }
static int disk_characteristics(sqlite3_file *f) { return methods(f)->xDeviceCharacteristics(inner(f)); }
static int disk_map(sqlite3_file *f, int page, int size, int extend, void volatile **result) {
    return methods(f)->xShmMap(inner(f), page, size, extend, result);
}
static int disk_shm_lock(sqlite3_file *f, int offset, int count, int flags) {
    return methods(f)->xShmLock(inner(f), offset, count, flags);
}
static void disk_barrier(sqlite3_file *f) { methods(f)->xShmBarrier(inner(f)); }
static int disk_unmap(sqlite3_file *f, int delete) { return methods(f)->xShmUnmap(inner(f), delete); }

// Version 2 has no memory-mapped reads and writes, which would bypass these functions.
static const sqlite3_io_methods disk_methods = {
    2, disk_close, disk_read, disk_write, disk_truncate, disk_sync, disk_size, disk_lock, disk_unlock, disk_reserved,
    disk_control, disk_sector_size, disk_characteristics, disk_map, disk_shm_lock, disk_barrier, disk_unmap, NULL, NULL,
};

// MARK: - Files

// Returns the disk whose folder contains the file, or NULL.
static faulty_disk *disk_of(const char *path) {
    faulty_disk *found = NULL;
    pthread_mutex_lock(&disks_mutex);
    for (faulty_disk *disk = disks; disk != NULL && path != NULL && found == NULL; disk = disk->next)
        if (strncmp(path, disk->folder, disk->folder_length) == 0) found = disk;
    pthread_mutex_unlock(&disks_mutex);
    return found;
}

// Returns the image of a file. A new image has the present content of the file.
static image *image_of(faulty_disk *disk, const char *path, sqlite3_file *opened) {
    pthread_mutex_lock(&disk->mutex);
    image *image = disk->images;
    while (image != NULL && strcmp(image->path, path) != 0) image = image->next;
    if (image == NULL) {
        image = require(calloc(1, sizeof *image));
        image->path = require(strdup(path));
        image->last = &image->first;
        sqlite3_int64 size = 0;
        if (opened->pMethods->xFileSize(opened, &size) == SQLITE_OK && size > 0) {
            resize(&image->bytes, &image->count, (size_t)size);
            image->exists_after_power_cut = opened->pMethods->xRead(opened, image->bytes, (int)size, 0) == SQLITE_OK;
        }
        image->next = disk->images;
        disk->images = image;
    } else if (!image->exists) {
        // The file was deleted and created again. A power cut can bring back the content before the deletion, so the image
        // keeps it and records a truncation.
        record_change(image, 0, NULL, 0);
    }
    image->exists = 1;
    pthread_mutex_unlock(&disk->mutex);
    return image;
}

static int disk_open(sqlite3_vfs *vfs, sqlite3_filename path, sqlite3_file *f, int flags, int *out) {
    (void)vfs;
    faulty_disk *disk = disk_of(path);
    if (disk == NULL) return wrapped->xOpen(wrapped, path, f, flags, out);
    f->pMethods = NULL;
    int result = wrapped->xOpen(wrapped, path, inner(f), flags, out);
    if (result != SQLITE_OK) {
        if (methods(f) != NULL) methods(f)->xClose(inner(f));
        return result;
    }
    file *self = (file *)f;
    self->disk = disk;
    self->image = image_of(disk, path, inner(f));
    self->syncs_folder = (flags & SQLITE_OPEN_CREATE) != 0
        && (flags & (SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL)) != 0;
    f->pMethods = &disk_methods;
    return SQLITE_OK;
}

static int disk_delete(sqlite3_vfs *vfs, const char *path, int sync) {
    (void)vfs;
    faulty_disk *disk = disk_of(path);
    if (disk != NULL && begin_operation(disk)) return SQLITE_IOERR_DELETE;
    int result = wrapped->xDelete(wrapped, path, sync);
    if (disk == NULL || result != SQLITE_OK) return result;
    pthread_mutex_lock(&disk->mutex);
    for (image *image = disk->images; image != NULL; image = image->next) {
        if (strcmp(image->path, path) != 0) continue;
        forget_changes(image);
        image->exists = 0;
        if (sync) image->exists_after_power_cut = 0;
    }
    pthread_mutex_unlock(&disk->mutex);
    return result;
}

static void install(void) {
    wrapped = require(sqlite3_vfs_find(NULL));
    wrapper = *wrapped;
    wrapper.pNext = NULL;
    wrapper.zName = "faulty-disk";
    wrapper.szOsFile = (int)sizeof(file) + wrapped->szOsFile;
    wrapper.xOpen = disk_open;
    wrapper.xDelete = disk_delete;
    if (sqlite3_vfs_register(&wrapper, 1) != SQLITE_OK) abort();
}

faulty_disk *faulty_disk_attach(const char *folder, faulty_disk_observer observer, void *context) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, install);
    char *resolved = realpath(folder, NULL);
    if (resolved == NULL) return NULL;
    faulty_disk *disk = require(calloc(1, sizeof *disk));
    disk->folder_length = strlen(resolved) + 1;
    disk->folder = require(realloc(resolved, disk->folder_length + 1));
    strcpy(disk->folder + disk->folder_length - 1, "/");
    disk->observer = observer;
    disk->context = context;
    pthread_mutex_init(&disk->mutex, NULL);
    pthread_mutex_lock(&disks_mutex);
    disk->next = disks;
    disks = disk;
    pthread_mutex_unlock(&disks_mutex);
    return disk;
}

void faulty_disk_detach(faulty_disk *disk) {
    pthread_mutex_lock(&disks_mutex);
    faulty_disk **place = &disks;
    while (*place != NULL && *place != disk) place = &(*place)->next;
    if (*place != NULL) *place = disk->next;
    pthread_mutex_unlock(&disks_mutex);
    // The last operation may still hold the mutex.
    pthread_mutex_lock(&disk->mutex);
    while (disk->images != NULL) {
        image *image = disk->images;
        disk->images = image->next;
        forget_changes(image);
        free(image->bytes);
        free(image->path);
        free(image);
    }
    pthread_mutex_unlock(&disk->mutex);
    pthread_mutex_destroy(&disk->mutex);
    free(disk->folder);
    free(disk);
}

int64_t faulty_disk_operations(faulty_disk *disk) {
    pthread_mutex_lock(&disk->mutex);
    int64_t count = disk->operations;
    pthread_mutex_unlock(&disk->mutex);
    return count;
}

void faulty_disk_fail(faulty_disk *disk, int64_t first, int for_ever) {
    pthread_mutex_lock(&disk->mutex);
    disk->first_failure = first;
    disk->fails_for_ever = for_ever;
    pthread_mutex_unlock(&disk->mutex);
}
