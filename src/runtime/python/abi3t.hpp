#pragma once
// What a module for free-threaded Pythons says of itself (PEP 793, PEP 803, PEP 820), with Include/slots.h,
// slots_generated.h and modsupport.h of Python 3.15.2. Declared here because Debian 12 and Ubuntu 22.04 have older
// headers; layout and numbers are of the stable ABI.
#include <cstdint>

#include "runtime/python/object.hpp"

namespace flashfit::python::abi3t {

/// PySlot: what a module has of one kind.
struct Slot {
  enum Flag : std::uint16_t { kPlain = 0, kStatic = 2, kInteger = 4 };
  std::uint16_t id = 0;  ///< 0: the end of the list
  std::uint16_t flags = kPlain;
  std::uint32_t reserved = 0;
  union {
    const void* data = nullptr;
    void (*function)();
    Py_ssize_t size;
  };
};
static_assert(sizeof(Slot) == 16);

/// Py_mod_*: numbers of slots.
enum Id : std::uint16_t {
  kExec = 85,
  kGil = 87,
  kName = 100,
  kStateSize = 102,
  kMethods = 103,
  kStateTraverse = 104,
  kStateClear = 105,
  kStateFree = 106,
  kAbi = 109,
};

inline Slot of_static(Id id, const void* data) { return {.id = id, .flags = Slot::kStatic, .data = data}; }
inline Slot of_size(Id id, Py_ssize_t size) { return {.id = id, .size = size}; }
template <typename R, typename... A>
Slot of_function(Id id, R (*function)(A...)) {
  return {.id = id, .function = reinterpret_cast<void (*)()>(function)};
}
/// Py_MOD_GIL_NOT_USED: importing the module does not turn the lock on.
inline Slot without_gil() {
  return {.id = kGil, .flags = Slot::kInteger, .data = reinterpret_cast<const void*>(std::uintptr_t{1})};
}

/// PyABIInfo: for which Pythons a module is. One that does not fit raises ImportError before it calls anything.
struct AbiInfo {
  enum Flag : std::uint16_t { kStable = 1, kWithGil = 2, kFreeThreaded = 4 };
  std::uint8_t major = 1, minor = 0;
  std::uint16_t flags = kStable | kWithGil | kFreeThreaded;
  std::uint32_t built_with = PY_VERSION_HEX;
  std::uint32_t oldest = 0x030F0000;
};
static_assert(sizeof(AbiInfo) == 12);

}  // namespace flashfit::python::abi3t
