// Loaded into a Swift program before other libraries (LD_PRELOAD). Delays random jobs of the runtime. It loses no job and keeps
// the order within an actor, so the same can happen on a busy machine.
//
// SHAKE_PERCENT of the jobs are delayed, each by up to SHAKE_MICROSECONDS.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

// As Swift's Runtime/Concurrency.h declares them.
typedef __attribute__((swiftcall)) void (*Enqueue)(void *job);
typedef __attribute__((swiftcall)) void (*EnqueueHook)(void *job, Enqueue original);
typedef __attribute__((swiftcall)) void (*EnqueueLate)(unsigned long long nanoseconds, void *job);

static EnqueueLate enqueue_late;
static uint64_t percent, microseconds;

static uint64_t chance(uint64_t below) {
    static __thread uint64_t state;
    if (state == 0) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        state = (uint64_t)now.tv_nsec ^ (uintptr_t)&state ^ 1;
    }
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
}

__attribute__((swiftcall)) static void hand_over(void *job, Enqueue original) {
    if (chance(100) < percent) {
        enqueue_late(chance(microseconds) * 1000, job);
    } else {
        original(job);
    }
}

static uint64_t setting(const char *name) {
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : 0;
}

__attribute__((constructor)) static void begin(void) {
    percent = setting("SHAKE_PERCENT");
    microseconds = setting("SHAKE_MICROSECONDS");
    // Does nothing in a program without Swift's concurrency.
    void *runtime = dlopen("libswift_Concurrency.so", RTLD_NOW | RTLD_NOLOAD);
    if (runtime == NULL || percent == 0 || microseconds == 0) return;
    EnqueueHook *hook = dlsym(runtime, "swift_task_enqueueGlobal_hook");
    enqueue_late = (EnqueueLate)dlsym(runtime, "swift_task_enqueueGlobalWithDelay");
    if (hook != NULL && enqueue_late != NULL) *hook = hand_over;
}
