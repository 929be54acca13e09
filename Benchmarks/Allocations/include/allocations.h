#pragma once
#include <stdint.h>

/// What the calling thread has asked the heap for since it began.
typedef struct {
    uint64_t count;
    uint64_t bytes;
} souk_allocations;

/// Zero everywhere but with the GNU C library.
souk_allocations souk_allocations_of_thread(void);
