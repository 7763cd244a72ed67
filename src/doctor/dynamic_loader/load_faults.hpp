#pragma once
// What stops an object that was found from being loaded, as facts: checks make problems of them, and a dlopen that
// meets one leaves nothing behind.
#include <optional>
#include <string>
#include <vector>

#include "doctor/dynamic_loader/load_plan.hpp"

namespace flashfit::doctor::dynamic_loader {

/// A symbol version that an object wants of a library in the process, which has versions, but not this one.
struct MissingVersion {
  int object = kNobody, provider = kNobody;  ///< indices in LoadPlan::objects
  std::string version;
};
/// Of the objects from index `first` on. Weak ones are none, nor those of libraries that are not there.
std::vector<MissingVersion> missing_versions(const LoadPlan& plan, std::size_t first = 0);

/// A symbol that an object wants of a library with just this version, which that library and all others lack.
struct MissingSymbol {
  int object = kNobody, provider = kNobody;  ///< indices in LoadPlan::objects
  std::string symbol;
};
std::vector<MissingSymbol> missing_symbols(const LoadPlan& plan, std::size_t first = 0);

/// Whether the loader refuses an object for its executable stack: glibc 2.41 and later, when it comes by dlopen.
/// Nothing: the C library's version is not known.
std::optional<bool> refuses_stack(const LoadPlan& plan, const LoadedObject& object);

/// Whether any object from `first` on has one of these.
bool any_fault(const LoadPlan& plan, std::size_t first);

}  // namespace flashfit::doctor::dynamic_loader
