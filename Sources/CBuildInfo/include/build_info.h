#pragma once

/// The commit this was built from, `unknown` outside a checkout; with a plus sign behind it when files were changed.
const char *souk_build_commit(void);
