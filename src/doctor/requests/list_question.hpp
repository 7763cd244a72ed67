#pragma once
// The question for a list's requests: what the image's name says is so, whatever else was asked; what it does not say
// is what the user named, and never what this machine has.
#include "doctor/requests/by_base.hpp"
#include "doctor/rules/question.hpp"

namespace flashfit::doctor::requests {

/// Which parts of a question the user named; the others are this machine's.
struct Named {
  bool python = false, platform = false, glibc = false;
};

/// The question for the requests of one base, `places`. PyTorch is that of the question, else what the list pins, else
/// what the base's name says. Where a base is named, says no Python and none was asked for, none is judged.
doctor::Question question_of(const RequestList& list, std::size_t base, const Places& places,
                             const doctor::Question& asked, Named named);

}  // namespace flashfit::doctor::requests
