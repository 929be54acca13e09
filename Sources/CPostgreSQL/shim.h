#pragma once

// Debian has the header in a folder of its own. pkg-config names that folder, but not every tool asks pkg-config.
#if __has_include(<libpq-fe.h>)
#include <libpq-fe.h>
#else
#include <postgresql/libpq-fe.h>
#endif
