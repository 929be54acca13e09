#pragma once

// On Debian, the header is in its own folder. pkg-config returns that folder, but not every tool uses pkg-config.
#if __has_include(<libpq-fe.h>)
#include <libpq-fe.h>
#else
#include <postgresql/libpq-fe.h>
#endif
