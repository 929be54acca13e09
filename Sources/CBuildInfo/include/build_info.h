#pragma once

/// The commit this was built from, `unknown` outside a checkout. A plus sign follows it if files were changed.
const char *souk_build_commit(void);

/// The version of mimalloc, where this was linked with it: 209 for 2.0.9, else 0.
int souk_mimalloc_version(void);
