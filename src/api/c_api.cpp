// The C ABI: nothing is thrown past it, every failure becomes a status and the thread's message.
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <string_view>

#include "api/dispatch.hpp"
#include "api/reports.hpp"
#include "api/tensor_check.hpp"
#include "flashfit/flashfit.h"

namespace flashfit::api {
namespace {

/// A plain array, so that recording a failure cannot fail and threads leave nothing behind; longer messages are cut.
thread_local char last_error[4096] = "";

/// Control characters come with the caller's own strings and with the driver's; as \xNN they leave it one line.
flashfit_status record(flashfit_status status, std::string_view message) noexcept {
  constexpr char kDigits[] = "0123456789abcdef";
  std::size_t length = 0;
  for (const char c : message) {
    const auto byte = static_cast<unsigned char>(c);
    const char escaped[] = {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    const std::string_view shown = byte < 0x20 || byte == 0x7f ? std::string_view(escaped, 4) : std::string_view(&c, 1);
    if (length + shown.size() >= sizeof last_error) break;
    length += shown.copy(last_error + length, shown.size());
  }
  last_error[length] = '\0';
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

Result<void> check_target(char** json) {
  if (!json) return fail(Code::kInvalidArgument, "json: NULL; accepted: where to put the document's address");
  *json = nullptr;
  return {};
}

/// A copy that flashfit_free() frees.
void hand_over(std::string_view text, char** json) {
  char* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (!copy) throw std::bad_alloc();
  copy[text.copy(copy, text.size())] = '\0';
  *json = copy;
}

}  // namespace
}  // namespace flashfit::api

using namespace flashfit;

uint32_t flashfit_version(void) {
  return FLASHFIT_VERSION_MAJOR * 10000 + FLASHFIT_VERSION_MINOR * 100 + FLASHFIT_VERSION_PATCH;
}

const char* flashfit_last_error(void) { return api::last_error; }

flashfit_status flashfit_attention_forward(const flashfit_attention_args* args) {
  return api::guarded([&]() -> Result<void> {
    const auto checked = api::check_forward(args);
    if (!checked) return tl::unexpected(checked.error());
    return api::dispatch_forward(*checked);
  });
}

flashfit_status flashfit_explain_json(const flashfit_explain_args* args, char** json) {
  return api::guarded([&]() -> Result<void> {
    if (auto ok = api::check_target(json); !ok) return ok;
    const auto text = api::explain_json(args);
    if (!text) return tl::unexpected(text.error());
    api::hand_over(*text, json);
    return {};
  });
}

flashfit_status flashfit_images_json(char** json) {
  return api::guarded([&]() -> Result<void> {
    if (auto ok = api::check_target(json); !ok) return ok;
    api::hand_over(api::images_json(), json);
    return {};
  });
}

flashfit_status flashfit_gpus_json(char** json) {
  return api::guarded([&]() -> Result<void> {
    if (auto ok = api::check_target(json); !ok) return ok;
    api::hand_over(api::gpus_json(), json);
    return {};
  });
}

void flashfit_free(char* json) { std::free(json); }
