// Empty: what our code takes from Darwin's C library, Glibc has under the same names, and Foundation brings it. That the
// module is there makes `canImport(Darwin)` true. https://developer.apple.com/documentation/kernel
