#pragma once
// Reads values of a JSON text that people may have written, with the place of what is wrong.
#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/printable.hpp"

namespace flashfit::doctor {

/// A value and its place: "companions[2].package". The first thing that is wrong is kept for all values of one text;
/// what follows it is empty.
class DataReader {
 public:
  using Json = nlohmann::json;
  DataReader(const Json& value, std::string place, std::string& wrong)
      : value_(value), place_(std::move(place)), wrong_(wrong) {}

  DataReader at(const char* key) const {
    const auto found = value_.is_object() ? value_.find(key) : value_.end();
    const bool has = value_.is_object() && found != value_.end();
    return {has ? *found : nothing(), place_.empty() ? key : place_ + "." + key, wrong_};
  }
  bool has(const char* key) const { return value_.is_object() && value_.contains(key); }
  /// Of an array; none where it is no array.
  std::vector<DataReader> items() const {
    std::vector<DataReader> list;
    if (!value_.is_array()) {
      refuse("an array");
      return list;
    }
    for (std::size_t i = 0; i < value_.size(); ++i)
      list.emplace_back(value_[i], fmt::format("{}[{}]", place_, i), wrong_);
    return list;
  }
  /// The keys of an object.
  std::vector<std::string> keys() const {
    std::vector<std::string> list;
    if (!value_.is_object()) refuse("an object");
    for (const auto& [key, value] : value_.items())
      if (value_.is_object()) list.push_back(key);
    return list;
  }
  std::string text() const {
    if (!value_.is_string()) refuse("a text");
    return value_.is_string() ? value_.get<std::string>() : "";
  }
  bool flag() const {
    if (!value_.is_boolean()) refuse("true or false");
    return value_.is_boolean() && value_.get<bool>();
  }
  /// From 0 to `most`.
  std::uint64_t number(std::uint64_t most) const {
    const bool sound = value_.is_number_unsigned() && value_.get<std::uint64_t>() <= most;
    if (!sound) refuse(fmt::format("a number from 0 to {}", most));
    return sound ? value_.get<std::uint64_t>() : 0;
  }
  /// What `parse` makes of the text.
  template <class T>
  T parsed(Result<T> (*parse)(std::string_view)) const {
    const std::string given = text();
    auto made = parse(given);
    if (!made) refuse(made.error().message);
    return made ? std::move(*made) : T{};
  }

  void refuse(const std::string& accepted) const {
    if (wrong_.empty())
      wrong_ = fmt::format("{}: {}; accepted: {}", place_.empty() ? "the text" : place_, shown(), accepted);
  }

 private:
  static const Json& nothing() {
    static const Json none;
    return none;
  }
  std::string shown() const {
    constexpr std::size_t kShown = 60;
    if (value_.is_null()) return "missing";
    return value_.is_structured() ? value_.type_name()
                                  : printable(value_.dump(-1, ' ', true, Json::error_handler_t::replace), kShown);
  }

  const Json& value_;
  std::string place_;
  std::string& wrong_;
};

}  // namespace flashfit::doctor
