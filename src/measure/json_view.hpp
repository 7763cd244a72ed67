#pragma once
// Typed reading of JSON that may hold anything: the first value that is not as asked is remembered with its place.
#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace flashfit::results {

/// What is wrong first, as "cases[3].median_us: must be a number"; "" while all is well.
using FirstFault = std::string;

/// A place in a document. Where a value is missing or of another type, the fault is noted and a default given, so that
/// readers need no branches.
class JsonView {
 public:
  using Json = nlohmann::ordered_json;

  JsonView(const Json& json, std::string place, FirstFault& fault)
      : json_(json), place_(std::move(place)), fault_(fault) {}

  /// Notes that this place must be otherwise.
  void must(const std::string& be) const {
    if (fault_.empty()) fault_ = (place_.empty() ? "the file" : place_) + ": must be " + be;
  }
  void must_be_object() const {
    if (!json_.is_object()) must("an object");
  }

  /// The member, or null where it is left out.
  JsonView operator[](const char* key) const {
    static const Json kNothing;
    if (!is_null()) must_be_object();
    const bool there = json_.is_object() && json_.contains(key);
    return {there ? json_.at(key) : kNothing, place_.empty() ? key : place_ + "." + key, fault_};
  }

  bool is_null() const { return json_.is_null(); }
  const Json& json() const { return json_; }

  std::string text() const {
    if (json_.is_string()) return json_.get_ref<const std::string&>();
    must("text");
    return "";
  }
  std::string text_or_none() const { return is_null() ? "" : text(); }

  bool truth() const {
    if (!json_.is_boolean()) must("true or false");
    return json_.is_boolean() && json_.get<bool>();
  }

  /// Finite and at least `low`.
  double number(double low = -std::numeric_limits<double>::infinity()) const {
    const double x = json_.is_number() ? json_.get<double>() : std::nan("");
    if (std::isfinite(x) && x >= low) return x;
    must(std::isfinite(low) ? "a number of at least " + Json(low).dump() : "a number");
    return 0;
  }
  std::optional<double> number_or_none(double low = 0) const {
    if (is_null()) return std::nullopt;
    return number(low);
  }
  std::int64_t whole() const {
    const double x = json_.is_number_integer() ? json_.get<double>() : -1;
    if (x >= 0 && x < 9e15) return json_.get<std::int64_t>();
    must("a whole number from 0 on");
    return 0;
  }
  std::int64_t whole_or_zero() const { return is_null() ? 0 : whole(); }

  /// One JsonView for each element; null has none.
  std::vector<JsonView> elements() const {
    std::vector<JsonView> views;
    if (is_null()) return views;
    if (!json_.is_array()) must("a list");
    if (json_.is_array())
      for (std::size_t i = 0; i < json_.size(); ++i)
        views.emplace_back(json_[i], place_ + "[" + std::to_string(i) + "]", fault_);
    return views;
  }
  /// Calls visit(key, JsonView) for each member; null has none.
  template <class Visit>
  void each(const Visit& visit) const {
    if (is_null()) return;
    must_be_object();
    if (json_.is_object())
      for (const auto& [key, value] : json_.items()) visit(key, JsonView(value, place_ + "." + key, fault_));
  }

 private:
  const Json& json_;
  std::string place_;
  FirstFault& fault_;
};

}  // namespace flashfit::results
