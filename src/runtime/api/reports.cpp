#include "runtime/api/reports.hpp"

#include <fmt/format.h>

#include <string_view>

#include "core/base/json_text.hpp"
#include "core/gpu/device.hpp"
#include "core/gpu/nvml.hpp"
#include "kernels/attention/forward/variants.hpp"
#include "runtime/api/attention/explain_request.hpp"
#include "runtime/images/carried.hpp"

namespace flashfit::api {
namespace {

void field_or_null(JsonText& json, const char* key, const std::string& text) {
  text.empty() ? json.field(key, nullptr) : json.field(key, text);
}

}  // namespace

Result<std::string> explain_json(const flashfit_explain_args* args) {
  const auto request = read_explain(args);
  if (!request) return tl::unexpected(request.error());
  JsonText json;
  json.begin_array();
  for (const Gpu& gpu : request->gpus) write_explanation(json, explained(*request, gpu));
  json.end_array();
  return json.take();
}

Result<std::string> images_json() {
  if (const Result<void> whole = check_carried_images(); !whole) return tl::unexpected(whole.error());
  JsonText json;
  json.begin_array();
  for (const Image& image : carried_images()) {
    json.begin_object();
    const KernelFamily& family = *image.variant->family;
    json.field("operation", family.operation);
    json.field("family", family.name);
    json.field("variant", image.variant->name);
    json.field("target", image.target.str());
    json.field("registers", image.registers);
    json.field("local_bytes", image.local_bytes);
    json.field("shared_memory_bytes", image.variant->shared_bytes);
    json.field("bytes", image.bytes);
    if (std::string_view(family.operation) == kForwardOperation) {
      const ForwardConfig& config = forward_variant_of(*image.variant).config;
      json.field("dtype", name_of(config.dtype));
      json.field("head_dim", config.head_dim);
      json.field("head_dim_v", config.head_dim_v);
      json.field("kind", kind_of(config));
    }
    json.end_object();
  }
  json.end_array();
  return json.take();
}

Result<std::string> gpus_json() {
  const Machine machine = this_machine();
  const std::string cuda = machine.cuda ? fmt::format("{}.{}", machine.cuda / 1000, machine.cuda % 1000 / 10) : "";
  JsonText json;
  json.begin_object();
  field_or_null(json, "driver", machine.driver_version);
  field_or_null(json, "cuda", cuda);
  field_or_null(json, "no_gpu_reason", machine.no_gpu_reason);
  json.key("gpus");
  json.begin_array();
  for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
    const Gpu& gpu = machine.gpus[i];
    json.begin_object();
    json.field("index", machine.indices[i]);
    json.field("gpu", gpu.name);
    json.field("compute_capability", gpu.cc.str());
    json.field("sms", gpu.sms);
    json.field("shared_memory_limit_bytes", gpu.shared_bytes_block);
    const Nvml nvml(pci_bus_id(machine.indices[i]));
    json.field("clock_max_mhz", nvml.sm_clock_max_mhz());
    json.field("memory_clock_max_mhz", nvml.memory_clock_max_mhz());
    json.field("power_limit_w", nvml.power_limit_w());
    json.key("throttled");
    json.begin_array();
    for (const std::string& reason : nvml.throttled()) json.value(reason);
    json.end_array();
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return json.take();
}

}  // namespace flashfit::api
