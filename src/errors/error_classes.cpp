#include <vector>

#include "errors/tables.hpp"

namespace flashfit::errors {

const char* name_of(Nature nature) {
  constexpr const char* kNames[] = {"misfit", "host", "no misfit", "out of scope"};
  return kNames[static_cast<std::size_t>(nature)];
}

std::span<const ErrorClass* const> error_classes() {
  // The driver's own words go before what a loader or a kernel says of them.
  static const std::vector<const ErrorClass*> kAll = [] {
    std::vector<const ErrorClass*> all;
    for (const auto table :
         {driver_errors(), gpu_code_errors(), loader_errors(), install_errors(), build_errors(), kernel_errors()})
      for (const ErrorClass& one : table) all.push_back(&one);
    return all;
  }();
  return kAll;
}

const ErrorClass* find_class(std::string_view name) {
  for (const ErrorClass* one : error_classes())
    if (one->name == name) return one;
  return nullptr;
}

}  // namespace flashfit::errors
