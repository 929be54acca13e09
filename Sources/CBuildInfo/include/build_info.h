#pragma once

/// The commit that was built, with a plus sign if files were changed. `unknown` outside a checkout, and in gates and tests.
const char *souk_build_commit(void);

/// The version of the linked mimalloc, such as 209 for 2.0.9; 0 without mimalloc.
int souk_mimalloc_version(void);
