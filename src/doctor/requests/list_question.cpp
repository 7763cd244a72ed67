#include "doctor/requests/list_question.hpp"

#include "doctor/facts/torch_facts.hpp"
#include "doctor/requests/by_name.hpp"

namespace flashfit::doctor::requests {
namespace {

/// The release that these requests pin, with the build that their index names: "2.6.0+cu126"; "" for none.
std::string pinned_torch(const RequestList& list, const Places& places) {
  for (const std::size_t place : places) {
    const Request& request = list.requests[place];
    if (request.package.name != "torch" || !request.package.marker.empty()) continue;
    const auto version = pinned(request.package);
    if (!version) continue;
    const std::string build = build_of(list.indexes[request.indexes]);
    return version->text + (version->local.empty() && !build.empty() ? "+" + build : "");
  }
  return "";
}

void take_base(const Base& base, doctor::Question& question, Named named) {
  using System = doctor::Platform::System;
  if (base.name.empty()) return;
  if (auto python = doctor::parse_python(base.python)) {
    question.python = std::move(*python);
  } else if (!named.python) {
    question.python.reset();
  }
  if (named.platform && !base.system) return;
  const std::string arch = question.platform ? question.platform->arch : "x86_64";
  if (auto linux = doctor::parse_platform("linux_" + arch)) {
    question.platform = std::move(*linux);
    question.platform->system = base.system.value_or(System::kGlibc);
    const bool glibc = question.platform->system == System::kGlibc && !base.glibc.empty();
    if (auto whole = glibc ? doctor::with_glibc(*question.platform, base.glibc) : *question.platform)
      question.platform = std::move(*whole);
  }
}

}  // namespace

doctor::Question question_of(const RequestList& list, std::size_t base, const Places& places,
                             const doctor::Question& asked, Named named) {
  doctor::Question question = asked;
  const Base& image = list.bases[base];
  const auto glibc = question.platform;
  take_base(image, question, named);
  if (named.glibc && glibc && question.platform && question.platform->system == doctor::Platform::System::kGlibc) {
    question.platform->major = glibc->major;
    question.platform->minor = glibc->minor;
  }
  if (question.torch) return question;
  std::string torch = pinned_torch(list, places);
  question.whose_torch = torch.empty() ? "the base image's" : "the list's";
  if (torch.empty())
    torch = image.torch +
            (image.torch.empty() || image.cuda.empty()
                 ? ""
                 : "+cu" + image.cuda.substr(0, image.cuda.find('.')) + image.cuda.substr(image.cuda.find('.') + 1));
  if (torch.empty()) return question;
  if (auto facts = doctor::read_torch_release(torch)) question.torch = std::move(*facts);
  return question;
}

}  // namespace flashfit::doctor::requests
