#pragma once
// What every `flashfit explain OPERATION` does alike: one answer a GPU, as a table or as JSON.
#include <functional>
#include <string>
#include <vector>

#include "cli/options.hpp"
#include "cli/problem_options.hpp"
#include "cli/table.hpp"
#include "core/base/error.hpp"
#include "core/base/json_text.hpp"

namespace flashfit::cli {

/// The options beside the problem's.
struct ExplainOptions {
  GpuOptions gpu;
  std::string variant;
  bool json = false;

  void add_gpu_to(CLI::App& app) { gpu.add_to(app); }
  void add_rest_to(CLI::App& app);
};

struct Answer {
  bool fits;
  std::vector<std::string> cells;  ///< what follows "gpu" and "cc" in the row for people
};

/// Ends the command where a plan's error is a name that no GPU could take: wrong use, not a misfit.
template <class Plan>
void refuse_wrong_name(const Result<Plan>& plan) {
  if (!plan && plan.error().code == Code::kInvalidArgument) wrong("--" + plan.error().message);
}

/// Asks for each GPU, which writes an object and gives the row. Prints all; the command's status: kOk if each GPU named
/// fits, or any of all.
int explain_each(const ExplainOptions& options, const std::string& problem, std::vector<Column> columns,
                 const std::function<Answer(JsonText&, const Gpu&, CudaVersion driver)>& explain);

}  // namespace flashfit::cli
