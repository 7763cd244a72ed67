#pragma once
// A list and a question to a report: each request judged by the file that is at hand, else by what its name says.
#include <functional>

#include "doctor/examine/examine.hpp"
#include "doctor/requests/list_question.hpp"

namespace flashfit::doctor::requests {

/// Gives the path of the file that a request asks for, from where it keeps such files; "" if it has none.
using Fetch =
    std::function<std::string(const Request& request, const Indexes& indexes, const doctor::Question& question)>;

struct ListOptions {
  doctor::DoctorOptions how;  ///< for the files that are at hand
  Named named;
  Fetch fetch;  ///< asked where no file is at hand; none: nothing is fetched
};

struct ListReport {
  ListKind kind = ListKind::kRequirements;
  doctor::TargetReport report;       ///< the members of its problems are packages and wheels: "x.whl!lib.so"
  std::vector<std::uint32_t> lines;  ///< of each problem, from 1; 0: about no line
  std::string basis;                 ///< what was judged by name, what by its file, in one line
};

ListReport judge_list(const RequestList& list, doctor::Target target, const doctor::Question& asked,
                      const ListOptions& options);

}  // namespace flashfit::doctor::requests
