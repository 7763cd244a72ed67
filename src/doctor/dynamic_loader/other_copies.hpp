#pragma once
// Other files that a name could have led to.
#include <functional>
#include <string>

#include "doctor/dynamic_loader/load_plan.hpp"

namespace flashfit::doctor::dynamic_loader {

/// The first file that any request answered with `object` came upon, other than that object's own, for which `would_do`
/// holds; null: none.
const Candidate* find_other_copy(const LoadPlan& plan, int object, const std::function<bool(const Object&)>& would_do);

/// "put FOLDER first on LD_LIBRARY_PATH", so that the copy wins; LD_LIBRARY_PATH loses to DT_RPATH alone.
std::string prefer(const LoadPlan& plan, const Candidate& copy, int object);

/// "PATH (found by DT_RUNPATH of libx.so)" of a loaded object.
std::string describe_loaded(const LoadPlan& plan, int object);

}  // namespace flashfit::doctor::dynamic_loader
