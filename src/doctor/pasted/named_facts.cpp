#include "doctor/pasted/named_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "core/base/printable.hpp"
#include "core/gpu/driver_versions.hpp"
#include "doctor/gpu_code/toolkit_versions.hpp"
#include "doctor/gpu_code/what_runs_where.hpp"
#include "doctor/knowledge/data.hpp"
#include "doctor/knowledge/torch_releases.hpp"
#include "doctor/mends/torch_install.hpp"

namespace flashfit::doctor::pasted {
namespace {

/// PyTorch as the text names it, and the row of its release.
struct NamedTorch {
  std::string text;
  Version version;
  const TorchRelease* release = nullptr;
  CudaVersion cuda = 0;  ///< of its label, "cu128" -> 12.8; 0: it has none, or another
};

bool serves(const TorchRelease& release, CudaVersion cuda, const Question& question) {
  const auto code = code_of_torch(release, cuda);
  if (code.empty() || !toolkit_misfit(cuda, question.driver).empty()) return false;
  return std::all_of(question.gpus.begin(), question.gpus.end(), [&](const AskedGpu& gpu) {
    return best_of(code, {gpu.gpu.name, gpu.gpu.cc, question.driver}).best != Best::kNo;
  });
}

/// The newest build that serves these GPUs under this driver, for the Python that is known: "2.9.1+cu126"; "" if none.
std::string build_that_serves(const Diagnosis& diagnosis, const Question& question) {
  const auto& python = question.python ? question.python : diagnosis.named.python;
  for (const TorchRelease& release : torch_releases() | std::views::reverse) {
    const int minor = python ? static_cast<int>(python->minor) : release.last_python;
    if (minor < release.first_python || minor > release.last_python) continue;
    for (const CudaVersion cuda : release.cuda)
      if (cuda != 0 && serves(release, cuda, question)) return release.str() + "+" + label_of_cuda(cuda);
  }
  return "";
}

/// A build against one GPU.
NamedFact on_gpu(const NamedTorch& torch, const AskedGpu& gpu, const Diagnosis& diagnosis, const Question& question) {
  const std::string name = fmt::format("{} ({})", gpu.gpu.name, gpu.gpu.cc.str());
  const std::string mend = build_that_serves(diagnosis, question);
  const std::string command = mend.empty() ? "" : torch_install(mend);
  if (torch.version.local == "cpu")
    return {fmt::format("torch {} is a build for CPUs: it uses no GPU, the {} neither", torch.text, name), "FF704",
            command};
  const doctor::Answer answer =
      best_of(code_of_torch(*torch.release, torch.cuda), {gpu.gpu.name, gpu.gpu.cc, question.driver});
  if (answer.best == Best::kNo)
    return {fmt::format("torch {} carries nothing for {}: {}", torch.text, name, answer.reason), "FF704", command};
  return {fmt::format("torch {} itself has code for {}: {}", torch.text, name, answer.reason), "", ""};
}

/// A package that is built for one PyTorch, under the one that the text names.
NamedFact companion_fact(const std::string& package, const std::string& text, const Companion& companion,
                         const NamedTorch& torch) {
  const auto version = parse_version(text);
  if (!version) return {};
  const auto of_release = std::find_if(
      companion.releases.begin(), companion.releases.end(),
      [&](const CompanionRelease& release) { return refusing(release.versions, version->public_part()) == nullptr; });
  if (of_release == companion.releases.end()) return {};
  if (of_release->loads_under(torch.version.public_part()))
    return {fmt::format("{} {} goes with torch {}", package, text, torch.text), "", ""};
  std::string command;
  for (const CompanionRelease& release : companion.releases | std::views::reverse)
    if (release.asks_for(torch.version.public_part()))
      command = companion_install(package, release.release, torch.version.local, true);
  return {fmt::format("{} {} is built for torch {}, and the text has torch {}", package, text, of_release->other_text,
                      torch.text),
          "FF406", command};
}

/// The list of architectures that llama.cpp prints at its start, against one GPU. They may be PTX or SASS: an older one
/// of the same major runs, and PTX of any older one.
NamedFact llama_on_gpu(const std::vector<int>& capabilities, const AskedGpu& gpu) {
  const int here = gpu.gpu.cc.decimal();
  constexpr int kMajor = 10;
  const bool same_major = std::any_of(capabilities.begin(), capabilities.end(),
                                      [&](int one) { return one <= here && one / kMajor == here / kMajor; });
  if (same_major) return {};
  std::vector<std::string> names;
  names.reserve(capabilities.size());
  for (const int one : capabilities) names.push_back(fmt::format("{}.{}", one / kMajor, one % kMajor));
  return {fmt::format("llama.cpp says that it has code for {}: nothing for {} ({}), unless a part of it is PTX, which "
                      "the driver compiles at the first start",
                      fmt::join(names, ", "), gpu.gpu.name, gpu.gpu.cc.str()),
          "FF101",
          fmt::format("cmake -B build -DGGML_CUDA=ON -DCMAKE_CUDA_ARCHITECTURES={} && cmake --build build", here)};
}

std::optional<NamedTorch> torch_of(const Diagnosis& diagnosis) {
  auto version = parse_version(diagnosis.named.torch);
  if (!version) return std::nullopt;
  const TorchRelease* const release = torch_release_of(*version);
  const CudaVersion cuda = cuda_of_label(version->local);
  return NamedTorch{printable(diagnosis.named.torch), std::move(*version), release, cuda};
}

}  // namespace

std::vector<NamedFact> named_facts(const Diagnosis& diagnosis, const Question& question) {
  std::vector<NamedFact> facts;
  if (!diagnosis.named.llama_capabilities.empty())
    for (const AskedGpu& gpu : question.gpus) facts.push_back(llama_on_gpu(diagnosis.named.llama_capabilities, gpu));
  std::erase_if(facts, [](const NamedFact& fact) { return fact.line.empty(); });
  const auto torch = torch_of(diagnosis);
  if (!torch) return facts;
  const bool is_known_build =
      torch->version.local == "cpu" || (torch->release != nullptr && torch->release->has_build(torch->cuda));
  if (is_known_build)
    for (const AskedGpu& gpu : question.gpus) facts.push_back(on_gpu(*torch, gpu, diagnosis, question));
  if (const std::string why = toolkit_misfit(torch->cuda, question.driver); !why.empty()) {
    const std::string build = build_that_serves(diagnosis, question);
    facts.push_back(
        {fmt::format("torch {}: {}", torch->text, why), "FF703", build.empty() ? "" : torch_install(build)});
  }
  for (const auto& [package, version] : diagnosis.named.versions)
    if (const Companion* const companion = knowledge_data().companion(package))
      facts.push_back(companion_fact(package, version, *companion, *torch));
  std::erase_if(facts, [](const NamedFact& fact) { return fact.line.empty(); });
  std::stable_partition(facts.begin(), facts.end(), [](const NamedFact& fact) { return !fact.code.empty(); });
  return facts;
}

}  // namespace flashfit::doctor::pasted
