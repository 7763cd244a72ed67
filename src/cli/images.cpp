// flashfit images: the kernels that this build carries.
#include <fmt/format.h>

#include <memory>

#include "cli/command.hpp"
#include "cli/indented.hpp"
#include "cli/table.hpp"
#include "runtime/api/reports.hpp"
#include "runtime/images/carried.hpp"

namespace flashfit::cli {
namespace {

void print_json() { fmt::print("{}\n", indented(api::images_json().value())); }

void print_table() {
  std::vector<std::vector<std::string>> rows;
  std::size_t total = 0;
  for (const Image& i : carried_images()) {
    total += i.bytes;
    rows.push_back({i.variant->name, i.target.str(), i.registers ? std::to_string(i.registers) : "-",
                    std::to_string(i.local_bytes), human_bytes(i.variant->shared_bytes), human_bytes(i.bytes)});
  }
  if (!rows.empty())
    fmt::print(
        "{}",
        table(
            {{"variant"}, {"target"}, {"registers", true}, {"local B", true}, {"shared memory", true}, {"size", true}},
            rows));
  fmt::print("{} images, {} before compression\n", rows.size(), human_bytes(total));
}

}  // namespace

void add_images(CLI::App& app, int& status) {
  CLI::App* command = app.add_subcommand(
      "images", "The kernels that this build carries: variant, target, registers, shared memory, size.");
  const auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "a list of objects, one an image");
  command->footer("\nExample:\n  flashfit images --json\nPTX has no registers of its own: the driver allocates them.");
  command->callback([json, &status] {
    *json ? print_json() : print_table();
    status = kOk;
  });
}

}  // namespace flashfit::cli
