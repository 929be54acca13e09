#include "build_info.h"

const char *souk_build_commit(void) { return SOUK_COMMIT; }
