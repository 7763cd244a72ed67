#pragma once
// The files of wheels that a request names or that lie in a folder it names: nothing is fetched.
#include <map>
#include <string>
#include <vector>

#include "doctor/requests/request.hpp"
#include "doctor/rules/question.hpp"

namespace flashfit::doctor::requests {

/// Folders of wheels, each listed once.
class AtHand {
 public:
  /// `folder`: of the list; relative paths start there.
  explicit AtHand(std::string folder) : folder_(std::move(folder)) {}

  /// The file of a wheel that is named by its path, or that lies under its name in a --find-links folder of the
  /// request; "" if there is none.
  std::string file_of(const WheelLink& wheel, const Indexes& indexes);
  /// The newest wheel in a --find-links folder that the request takes and the question's tags do; "" if there is none.
  std::string wheel_for(const doctor::Requirement& package, const Indexes& indexes, const doctor::Question& question);

 private:
  const std::vector<std::string>& wheels_in(const std::string& folder);
  std::string in_list_folder(const std::string& path) const;

  std::string folder_;
  std::map<std::string, std::vector<std::string>> listed_;
};

}  // namespace flashfit::doctor::requests
