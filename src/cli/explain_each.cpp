#include "cli/explain_each.hpp"

#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/indented.hpp"

namespace flashfit::cli {

void ExplainOptions::add_rest_to(CLI::App& app) {
  app.add_option("--variant", variant, "force this variant of `flashfit images`")->type_name("NAME");
  app.add_flag("--json", json, "a list of objects, one a GPU");
}

int explain_each(const ExplainOptions& options, const std::string& problem, std::vector<Column> columns,
                 const std::function<Answer(JsonText&, const Gpu&, CudaVersion)>& explain) {
  CudaVersion driver = 0;
  const std::vector<Gpu> gpus = options.gpu.gpus(driver);
  JsonText json;
  json.begin_array();
  std::vector<std::vector<std::string>> rows;
  std::size_t fit = 0;
  for (const Gpu& gpu : gpus) {
    const Answer answer = explain(json, gpu, driver);
    std::vector<std::string>& row = rows.emplace_back(std::vector<std::string>{gpu.name, gpu.cc.str()});
    row.insert(row.end(), answer.cells.begin(), answer.cells.end());
    fit += answer.fits;
  }
  json.end_array();
  if (options.json) {
    fmt::print("{}\n", indented(json.take().value()));
  } else {
    columns.insert(columns.begin(), {{"gpu"}, {"cc"}});
    fmt::print("{:<9} {}\n", "problem", problem);
    fmt::print("{}", table(columns, rows));
  }
  return fit == gpus.size() || (options.gpu.all() && fit > 0) ? kOk : kDoesNotFit;
}

}  // namespace flashfit::cli
