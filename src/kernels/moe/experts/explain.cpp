#include "kernels/moe/experts/explain.hpp"

namespace flashfit {
namespace {

void write_image(JsonText& json, const Image* image) {
  const auto field = [&](const char* key, auto value) {
    image ? json.field(key, value(*image)) : json.field(key, nullptr);
  };
  field("variant", [](const Image& i) { return i.variant->name; });
  field("target", [](const Image& i) { return i.target.str(); });
  field("registers_per_thread", registers_of);
  field("shared_memory_bytes", [](const Image& i) { return i.variant->shared_bytes; });
  field("threads", [](const Image& i) { return i.variant->threads; });
}

void write_launches(JsonText& json, const Result<ExpertsPlan>& plan, const ExpertsProblem& problem) {
  json.key("launches");
  if (!plan) return json.value(nullptr);
  json.begin_array();
  for (const ExpertsLaunch& l : launches_of(*plan, problem)) {
    json.begin_object();
    json.field("step", l.step);
    write_image(json, l.launch.image);
    json.field("grid", l.launch.grid.x);
    json.end_object();
  }
  json.end_array();
}

}  // namespace

std::vector<ExpertsLaunch> launches_of(const ExpertsPlan& plan, const ExpertsProblem& problem) {
  std::vector<ExpertsLaunch> all;
  const auto steps = plan.steps.all();
  const auto add = [&](const char* name) { all.push_back({name, steps[all.size()]}); };
  if (steps.empty()) return all;
  if (counts(problem)) add("count");
  if (sorts(experts_product_variant_of(*plan.product->variant).config, problem)) add("place");
  if (problem.owned() > 0) {
    add("first product");
    add(plan.phase_columns > 0 ? "second product, sums" : "second product");
  }
  add("sum");
  return all;
}

const char* binds(const ExpertsTime& t) {
  if (!(t.all > 0)) return nullptr;
  if (t.multiplying >= t.reading_dram && t.multiplying >= t.reading_l2) return "multiplying";
  return t.reading_dram >= t.reading_l2 ? "reading DRAM" : "reading L2";
}

std::optional<int> registers_of(const Image& image) {
  return image.ptx() ? std::nullopt : std::optional(image.registers);
}

void write_explanation(JsonText& json, const Result<ExpertsPlan>& plan, const ExpertsProblem& problem, const Gpu& gpu) {
  const auto of_plan = [&](const char* key, auto value) {
    plan ? json.field(key, value(*plan)) : json.field(key, nullptr);
  };
  const auto of_config = [&](const char* key, int ExpertsProductConfig::* member) {
    of_plan(key, [&](const ExpertsPlan& p) { return experts_product_variant_of(*p.product->variant).config.*member; });
  };
  const auto of_time = [&](const char* key, double ExpertsTime::* member) {
    of_plan(key, [&](const ExpertsPlan& p) { return p.time.*member; });
  };
  json.begin_object();
  json.field("gpu", gpu.name);
  json.field("compute_capability", gpu.cc.str());
  json.field("fits", plan.has_value());
  json.field("operation", kExpertsOperation);
  of_plan("family", [](const ExpertsPlan& p) { return p.product->variant->family->name; });
  write_image(json, plan ? plan->product : nullptr);
  of_config("tile_rows", &ExpertsProductConfig::tile_rows);
  of_config("tile_columns", &ExpertsProductConfig::tile_columns);
  of_config("depth", &ExpertsProductConfig::depth);
  of_config("stages", &ExpertsProductConfig::stages);
  of_plan("workspace_bytes", [&](const ExpertsPlan&) { return workspace_bytes(problem); });
  of_time("modelled_us", &ExpertsTime::all);
  of_time("multiplying_us", &ExpertsTime::multiplying);
  of_time("reading_dram_us", &ExpertsTime::reading_dram);
  of_time("reading_l2_us", &ExpertsTime::reading_l2);
  const char* const bound = plan ? binds(plan->time) : nullptr;
  bound ? json.field("bound_by", bound) : json.field("bound_by", nullptr);
  write_launches(json, plan, problem);
  json.field("reason", reason_for(plan, problem, gpu));
  json.end_object();
}

}  // namespace flashfit
