#include "allocations.h"

#include <errno.h>
#include <stddef.h>

static _Thread_local souk_allocations counted;

souk_allocations souk_allocations_of_thread(void) { return counted; }

#if defined(__GLIBC__)

// A program that defines functions with these names replaces those of the C library, also for the libraries that it
// loads ("Replacing malloc", The GNU C Library). These functions count, and call the function of mimalloc or of the C
// library. `free` is not replaced.
#if defined(SOUK_HAS_MIMALLOC)
#define HEAP(name) mi_##name
#else
#define HEAP(name) __libc_##name
#endif
extern void *HEAP(malloc)(size_t);
extern void *HEAP(calloc)(size_t, size_t);
extern void *HEAP(realloc)(void *, size_t);
extern void *HEAP(memalign)(size_t, size_t);

static void count(size_t bytes) {
    counted.count += 1;
    counted.bytes += bytes;
}

void *malloc(size_t size) {
    count(size);
    return HEAP(malloc)(size);
}

void *calloc(size_t number, size_t size) {
    count(number * size);
    return HEAP(calloc)(number, size);
}

void *realloc(void *pointer, size_t size) {
    count(size);
    return HEAP(realloc)(pointer, size);
}

void *memalign(size_t alignment, size_t size) {
    count(size);
    return HEAP(memalign)(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **pointer, size_t alignment, size_t size) {
    *pointer = memalign(alignment, size);
    return *pointer ? 0 : ENOMEM;
}

#endif
