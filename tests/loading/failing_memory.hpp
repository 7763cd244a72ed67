#pragma once
// Host memory that runs out when a test says so. The program is linked with --wrap=malloc.

namespace flashfit::test {

/// The allocation of this thread that fails (operator new, or malloc of what is linked statically), counted down as
/// they come; 0: none.
extern thread_local int fails_in;

}  // namespace flashfit::test
