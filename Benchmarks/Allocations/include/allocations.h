#pragma once
#include <stdint.h>

/// The allocations of the calling thread since it began, including those that were freed.
typedef struct {
    uint64_t count;
    uint64_t bytes;
} souk_allocations;

/// Returns the allocations of the calling thread; zeros if the C library is not the GNU C library.
souk_allocations souk_allocations_of_thread(void);
