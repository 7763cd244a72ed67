// What libstdc++ asks of glibc 2.32 and newer, so that the result runs on older ones.
// Whether this process has one thread alone: never, which is the answer that is right for every process. Reference
// counts are then counted atomically. Hidden like all that is not declared as shown: it serves us alone.
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): the name is libstdc++'s.
extern "C" char __libc_single_threaded;
char __libc_single_threaded = 0;
