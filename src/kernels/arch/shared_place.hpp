#pragma once
// A place in shared memory, as kernels of all backends pass it on.

namespace flashfit::arch {

template <class T>
struct SharedPlace {
  T* s_base;
  int s_offset;  ///< elements
};

}  // namespace flashfit::arch
