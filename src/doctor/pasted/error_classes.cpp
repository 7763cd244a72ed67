#include <vector>

#include "doctor/pasted/tables.hpp"

namespace flashfit::doctor::pasted {

const char* name_of(Nature nature) {
  constexpr const char* kNames[] = {"misfit", "host", "no misfit", "out of scope"};
  return kNames[static_cast<std::size_t>(nature)];
}

std::span<const ErrorClass* const> error_classes() {
  // The words of the driver and of container runtimes go before what a loader or a kernel says of them; kinds that
  // know a package go before those that know a word of any.
  static const std::vector<const ErrorClass*> kAll = [] {
    std::vector<const ErrorClass*> all;
    for (const auto table : {container_errors(), driver_errors(), gpu_code_errors(), host_gate_errors(),
                             cpu_build_errors(), plugin_errors(), loader_errors(), install_errors(), build_errors(),
                             toolchain_errors(), kernel_errors(), release_errors(), operator_errors()})
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

}  // namespace flashfit::doctor::pasted
