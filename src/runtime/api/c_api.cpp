// The C ABI: nothing is thrown past it, every failure becomes a status and the thread's message.
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <string_view>

#include "flashfit/flashfit.h"
#include "runtime/api/attention/decisions.hpp"
#include "runtime/api/attention/dispatch.hpp"
#include "runtime/api/attention/plans.hpp"
#include "runtime/api/attention/tensor_check.hpp"
#include "runtime/api/decision_log.hpp"
#include "runtime/api/features.hpp"
#include "runtime/api/moe/activation_backward.hpp"
#include "runtime/api/moe/experts.hpp"
#include "runtime/api/moe/experts_backward.hpp"
#include "runtime/api/moe/experts_question.hpp"
#include "runtime/api/moe/route.hpp"
#include "runtime/api/moe/row_order.hpp"
#include "runtime/api/moe/rows_product.hpp"
#include "runtime/api/moe/token_rows.hpp"
#include "runtime/api/moe/weights_product.hpp"
#include "runtime/api/one_line.hpp"
#include "runtime/api/refuse.hpp"
#include "runtime/api/reports.hpp"

namespace flashfit::api {
namespace {

/// A plain array, so that recording a failure cannot fail and threads leave nothing behind; longer messages are cut.
thread_local char last_error[4096] = "";

flashfit_status record(flashfit_status status, std::string_view message) noexcept {
  write_one_line(message, last_error, sizeof last_error);
  return status;
}

flashfit_status status_of(Code code) {
  switch (code) {
    case Code::kInvalidArgument:
      return FLASHFIT_INVALID_ARGUMENT;
    case Code::kMisfit:
      return FLASHFIT_MISFIT;
    case Code::kNoGpu:
      return FLASHFIT_NO_GPU;
    case Code::kCuda:
      return FLASHFIT_CUDA;
    case Code::kOutOfMemory:
      return FLASHFIT_OUT_OF_MEMORY;
    case Code::kInternal:
      return FLASHFIT_INTERNAL;
    case Code::kDisabled:
      return FLASHFIT_DISABLED;
  }
  return FLASHFIT_INTERNAL;
}

template <class Body>
flashfit_status guarded(Body body) noexcept {
  try {
    const Result<void> done = body();
    return done ? FLASHFIT_OK : record(status_of(done.error().code), done.error().message);
  } catch (const std::bad_alloc&) {
    return record(FLASHFIT_OUT_OF_MEMORY, "host memory ran out");
  } catch (const std::exception& e) {
    return record(FLASHFIT_INTERNAL, e.what());
  } catch (...) {
    return record(FLASHFIT_INTERNAL, "an exception of unknown type");
  }
}

/// Checks the arguments and hands the call to `step`, one of dispatch.hpp.
template <class Step>
Result<void> attention(const flashfit_attention_args* args, Step step) {
  const auto checked = check_forward(args);
  const Result<void> done = checked ? step(*checked) : Result<void>(tl::unexpected(checked.error()));
  if (!done && logging()) log_refusal(checked ? &*checked : nullptr, done.error());
  return done;
}

/// A copy of the document that `make` gives, for flashfit_free() to free.
template <class Make>
flashfit_status hand_over(char** json, Make make) noexcept {
  return guarded([&]() -> Result<void> {
    if (!json) return fail(Code::kInvalidArgument, "json: NULL; accepted: where to put the document's address");
    *json = nullptr;
    const Result<std::string> text = make();
    if (!text) return tl::unexpected(text.error());
    char* copy = static_cast<char*>(std::malloc(text->size() + 1));
    if (!copy) throw std::bad_alloc();
    copy[text->copy(copy, text->size())] = '\0';
    *json = copy;
    return {};
  });
}

}  // namespace
}  // namespace flashfit::api

using namespace flashfit;

uint32_t flashfit_version(void) {
  return FLASHFIT_VERSION_MAJOR * 10000 + FLASHFIT_VERSION_MINOR * 100 + FLASHFIT_VERSION_PATCH;
}

const char* flashfit_last_error(void) { return api::last_error; }

const char* flashfit_status_name(flashfit_status status) {
  switch (status) {
    case FLASHFIT_OK:
      return "FLASHFIT_OK";
    case FLASHFIT_INVALID_ARGUMENT:
      return "FLASHFIT_INVALID_ARGUMENT";
    case FLASHFIT_MISFIT:
      return "FLASHFIT_MISFIT";
    case FLASHFIT_NO_GPU:
      return "FLASHFIT_NO_GPU";
    case FLASHFIT_CUDA:
      return "FLASHFIT_CUDA";
    case FLASHFIT_OUT_OF_MEMORY:
      return "FLASHFIT_OUT_OF_MEMORY";
    case FLASHFIT_INTERNAL:
      return "FLASHFIT_INTERNAL";
    case FLASHFIT_DISABLED:
      return "FLASHFIT_DISABLED";
    case FLASHFIT_STATUS_RANGE:
      break;
  }
  return "FLASHFIT_UNKNOWN";
}

const char* const* flashfit_features(void) {
  static constexpr const char* kNone[] = {nullptr};
  const char* const* list = kNone;
  api::guarded([&]() -> Result<void> {
    list = api::features();
    return {};
  });
  return list;
}

int flashfit_has_feature(const char* name) {
  for (const char* const* feature = flashfit_features(); name && *feature; ++feature)
    if (std::string_view(*feature) == name) return 1;
  return 0;
}

flashfit_status flashfit_attention_forward(const flashfit_attention_args* args) {
  return flashfit_attention_run(args, nullptr, nullptr);
}

flashfit_status flashfit_attention_workspace(const flashfit_attention_args* args, uint64_t* bytes) {
  return api::guarded([&]() -> Result<void> {
    if (!bytes) return api::refuse("bytes: NULL; accepted: where to put the workspace's size");
    *bytes = 0;
    return api::attention(args, [&](const api::CheckedForward& checked) {
      return api::dispatch_workspace(checked).map([&](std::uint64_t needed) { *bytes = needed; });
    });
  });
}

flashfit_status flashfit_attention_run(const flashfit_attention_args* args, flashfit_allocate allocate, void* context) {
  return api::guarded([&] {
    return api::attention(
        args, [&](const api::CheckedForward& checked) { return api::dispatch_forward(checked, {allocate, context}); });
  });
}

flashfit_status flashfit_attention_prepare(const flashfit_attention_args* args) {
  return api::guarded([&] { return api::attention(args, api::dispatch_prepare); });
}

flashfit_status flashfit_moe_route(const flashfit_moe_route_args* args) {
  return api::guarded([&] { return api::route(args); });
}

flashfit_status flashfit_moe_route_prepare(const flashfit_moe_route_args* args) {
  return api::guarded([&] { return api::prepare_route(args); });
}

flashfit_status flashfit_moe_route_explain_json(const flashfit_moe_route_explain_args* args, char** json) {
  return api::hand_over(json, [&] { return api::route_json(args); });
}

flashfit_status flashfit_fused_moe_explain_json(const flashfit_fused_moe_explain_args* args, char** json) {
  return api::hand_over(json, [&] { return api::experts_json(args); });
}

flashfit_status flashfit_fused_moe(const flashfit_fused_moe_args* args) {
  return flashfit_fused_moe_run(args, nullptr, nullptr);
}

flashfit_status flashfit_fused_moe_run(const flashfit_fused_moe_args* args, flashfit_allocate allocate, void* context) {
  return api::guarded([&] { return api::fused_moe(args, {allocate, context}); });
}

flashfit_status flashfit_fused_moe_workspace(const flashfit_fused_moe_args* args, uint64_t* bytes) {
  return api::guarded([&]() -> Result<void> {
    if (!bytes) return api::refuse("bytes: NULL; accepted: where to put the workspace's size");
    *bytes = 0;
    return api::fused_moe_workspace(args).map([&](std::uint64_t needed) { *bytes = needed; });
  });
}

flashfit_status flashfit_fused_moe_prepare(const flashfit_fused_moe_args* args) {
  return api::guarded([&] { return api::prepare_moe(args); });
}

flashfit_status flashfit_moe_activation_backward(const flashfit_moe_activation_backward_args* args) {
  return api::guarded([&] { return api::moe_activation_backward(args); });
}

flashfit_status flashfit_moe_rows_product(const flashfit_moe_rows_product_args* args, flashfit_allocate allocate,
                                          void* context) {
  return api::guarded([&] { return api::moe_rows_product(args, {.allocate = allocate, .context = context}); });
}

flashfit_status flashfit_moe_gather_rows(const flashfit_moe_rows_args* args) {
  return api::guarded([&] { return api::moe_gather_rows(args); });
}

flashfit_status flashfit_moe_sum_rows(const flashfit_moe_rows_args* args) {
  return api::guarded([&] { return api::moe_sum_rows(args); });
}

flashfit_status flashfit_moe_sort_rows(const flashfit_moe_sort_rows_args* args, flashfit_allocate allocate,
                                       void* context) {
  return api::guarded([&] { return api::moe_sort_rows(args, {.allocate = allocate, .context = context}); });
}

flashfit_status flashfit_moe_weights_product(const flashfit_moe_weights_product_args* args, flashfit_allocate allocate,
                                             void* context) {
  return api::guarded([&] { return api::moe_weights_product(args, {.allocate = allocate, .context = context}); });
}

flashfit_status flashfit_fused_moe_backward(const flashfit_fused_moe_backward_args* args) {
  return api::guarded([&] { return api::fused_moe_backward(args); });
}

flashfit_status flashfit_explain(const flashfit_explain_args* args, flashfit_plan* plans, size_t capacity,
                                 size_t* count) {
  return api::guarded([&] { return api::explain_plans(args, plans, capacity, count); });
}

flashfit_status flashfit_explain_json(const flashfit_explain_args* args, char** json) {
  return api::hand_over(json, [&] { return api::explain_json(args); });
}

flashfit_status flashfit_images_json(char** json) { return api::hand_over(json, api::images_json); }

flashfit_status flashfit_gpus_json(char** json) { return api::hand_over(json, api::gpus_json); }

void flashfit_free(char* json) { std::free(json); }
