#pragma once
// An entry of the list of cases that stands for one case: its keys read, the case judged and named.
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "measure/case.hpp"

namespace flashfit::measure {

/// What is wrong with the list; the message is a line without the group's name.
struct CaseMistake : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Throws CaseMistake, or nlohmann::json::exception for a value of another type.
Case read_case(const nlohmann::ordered_json& entry);

/// Whether a value that is a list is one value of this key, not a choice of several.
bool takes_a_list(const std::string& key);

/// Judges and names the case; fills in what the list left out. `entry` is where its words come from: "label",
/// "windows", "shifted". Throws CaseMistake.
void name_case(Case& c, const std::string& group, const nlohmann::ordered_json& entry);

}  // namespace flashfit::measure
