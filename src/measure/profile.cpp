#include "measure/profile.hpp"

#include <flashfit/flashfit.h>

#include <filesystem>
#include <string>
#include <vector>

#include "measure/call.hpp"

namespace flashfit::measure {

using Json = nlohmann::ordered_json;

Result<Json> profile_of(const Case& c, const NsightCompute& ncu) {
  std::error_code error;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe", error).string();
  // The first launch is counted: the one that is held to fp64, as any other is.
  Result<Json> counted = ncu.count("ForwardKernel", {self, "bench", "--device", "gpu", "--case", c.name, "--warmup",
                                                     "0", "--repeats", "1", "--seconds", "1"});
  if (!counted) return counted;
  Json profile = {{"by", "ncu " + ncu.version()}, {"ncu", std::move(*counted)}};
  if (const Result<flashfit_plan> plan = planned(c, 0))
    profile["model"] = {{"us", plan->modelled_us},
                        {"bound", plan->bound},
                        {"blocks_per_sm", plan->blocks_per_sm},
                        {"registers_per_thread", plan->registers_per_thread}};
  return profile;
}

}  // namespace flashfit::measure
