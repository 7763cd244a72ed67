#include "api/reports.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "api/explain_request.hpp"
#include "gpu/device.hpp"
#include "images/image.hpp"
#include "plan/explain.hpp"

namespace flashfit::api {
namespace {

using Json = nlohmann::ordered_json;

Json or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

}  // namespace

Result<std::string> explain_json(const flashfit_explain_args* args) {
  const auto request = read_explain(args);
  if (!request) return tl::unexpected(request.error());
  const auto& [problem, gpus, driver, options, tile] = *request;
  Json answer = Json::array();
  for (const Gpu& gpu : gpus) {
    answer.push_back(tile ? flashfit::explain_json(what_if(*tile, problem, gpu, carried_images()), gpu)
                          : flashfit::explain_json(problem, gpu, driver, carried_images(), options));
  }
  return answer.dump();
}

std::string images_json() {
  Json list = Json::array();
  for (const Image& image : carried_images()) {
    list.push_back({{"variant", name_of(image.variant->config)},
                    {"target", image.target.str()},
                    {"registers", image.registers},
                    {"local_bytes", image.local_bytes},
                    {"shared_memory_bytes", image.shared_bytes},
                    {"bytes", image.bytes}});
  }
  return list.dump();
}

std::string gpus_json() {
  const Machine machine = this_machine();
  Json gpus = Json::array();
  for (const Gpu& gpu : machine.gpus) {
    gpus.push_back({{"index", gpus.size()},
                    {"gpu", gpu.name},
                    {"compute_capability", gpu.cc.str()},
                    {"sms", gpu.sms},
                    {"shared_memory_limit_bytes", gpu.shared_bytes_block}});
  }
  const Json cuda =
      machine.cuda ? Json(fmt::format("{}.{}", machine.cuda / 1000, machine.cuda % 1000 / 10)) : Json(nullptr);
  return Json{{"driver", or_null(machine.driver_version)},
              {"cuda", cuda},
              {"no_gpu_reason", or_null(machine.no_gpu_reason)},
              {"gpus", gpus}}
      .dump();
}

}  // namespace flashfit::api
