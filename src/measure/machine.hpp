#pragma once
// What this machine and this program are, as result files say it: no names of users, hosts or folders.
#include <nlohmann/json.hpp>
#include <string>

namespace flashfit::measure {

/// `machine` of docs/results.md, with what is known of the GPU; null without one.
nlohmann::ordered_json machine_json(nlohmann::ordered_json gpu);

/// Git's, of what this was built from, with "-dirty"; "" outside a checkout.
std::string revision();

/// Now, in UTC: "2026-11-22T00:30:00Z".
std::string timestamp();

}  // namespace flashfit::measure
