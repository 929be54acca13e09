#include "build_info.h"

const char *souk_build_commit(void) { return SOUK_COMMIT; }

#if defined(SOUK_HAS_MIMALLOC)
extern int mi_version(void);
int souk_mimalloc_version(void) { return mi_version(); }
#else
int souk_mimalloc_version(void) { return 0; }
#endif
