#include "runtime/images/build/recipe.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/images/build/closure.hpp"

namespace flashfit {

std::string name_of(const Recipe& r) { return fmt::format("{} for {}", r.kernel.name, r.target.str()); }

Recipe make_recipe(const Kernel& kernel, const Target& target, const std::string& closure, const std::string& nvrtc) {
  Recipe r{.kernel = kernel,
           .target = target,
           .source = fmt::format("#include \"{}\"\nnamespace flashfit {{ using Kernel = {}; }}\n", kernel.header,
                                 kernel.type),
           .expression = "flashfit::arch::entry<flashfit::Kernel>",
           .options = {},
           .key = {}};
  r.options = {
      fmt::format("--gpu-architecture={}_{}{}", r.ptx() ? "compute" : "sm", target.cc, suffix_of(target.scope)),
      "--std=c++20", "-default-device", "--ptxas-options=-v"};
  r.key = hash_of(fmt::format("{}\n{}\n{}\n{}", nvrtc, fmt::join(r.options, " "), r.source, closure));
  return r;
}

}  // namespace flashfit
