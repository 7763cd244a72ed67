// Which GPUs of a fleet do these wheels and libraries serve? The doctor as a C++ program asks it
// (src/doctor/examine/examine.hpp).
//   fleet FILE... -- GPU...
// Exit status: 0 all are served, 1 something does not fit, 2 a wrong call or a file that cannot be read.
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "core/base/printable.hpp"
#include "core/gpu/gpu_names.hpp"
#include "doctor/examine/examine.hpp"

namespace doctor = flashfit::doctor;

namespace {

const char* word(doctor::Best best) {
  switch (best) {
    case doctor::Best::kSass:
      return "machine code";
    case doctor::Best::kPtxJit:
      return "PTX, compiled by the driver";
    case doctor::Best::kNo:
      break;
  }
  return "nothing";
}

void print(const doctor::TargetReport& report) {
  // Names come from archives and may hold anything: printable() escapes it. Messages are printable.
  const std::string target = flashfit::printable(report.target.target);
  std::printf("%s: %s\n", target.c_str(), name_of(report.verdict));
  // One row a GPU for every binary with GPU code: `coverage` goes by Target::binaries and by Question::gpus.
  for (std::size_t i = 0; i < report.coverage.size(); ++i) {
    const doctor::Binary& binary = report.target.binaries[i];
    if (binary.containers.empty()) continue;
    const std::string name = binary.path.empty() ? target : flashfit::printable(binary.path);
    for (const doctor::GpuCoverage& gpu : report.coverage[i])
      std::printf("  %s on %s: %s for %zu of %zu containers\n", name.c_str(), flashfit::printable(gpu.gpu).c_str(),
                  word(gpu.best), gpu.covered, doctor::counted_containers(binary));
  }
  for (const doctor::Problem& problem : report.problems)  // worst first; docs/doctor/CODE.md explains each
    std::printf("  %s %s %s\n", problem.code.c_str(), name_of(verdict_of(problem.severity)), problem.message.c_str());
  if (!report.mend.empty()) std::printf("  try: %s\n", report.mend.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> files;
  doctor::Question question;  // what is left out is not judged: here the driver, glibc, Python and PyTorch
  int i = 1;
  for (; i < argc && std::strcmp(argv[i], "--") != 0; ++i) files.emplace_back(argv[i]);
  for (++i; i < argc; ++i) {
    const auto gpu = flashfit::name_gpu(argv[i]);
    if (!gpu) {
      std::fprintf(stderr, "fleet: %s\n", gpu.error().message.c_str());
      return 2;
    }
    question.gpus.push_back({argv[i], *gpu});
  }
  if (files.empty() || question.gpus.empty()) {
    std::fprintf(stderr, "usage: fleet FILE... -- GPU...\n");
    return 2;
  }
  const auto reports = doctor::examine(files, question, {});  // never fails: what cannot be read is a verdict, too
  for (const doctor::TargetReport& report : reports) print(report);
  const doctor::Verdict verdict = doctor::worst(reports);
  return verdict == doctor::Verdict::kFits ? 0 : verdict == doctor::Verdict::kUnknown ? 2 : 1;
}
