// The fuzz target: any input becomes calls of the C API, whose answers are held to flashfit.h (oracle.hpp, answer.hpp).
// Runs under libFuzzer, or under replay.cpp where there is none. GPU tensors meet tests/fake_cuda: nothing there is
// dereferenced, so their addresses may be anything.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "answer.hpp"
#include "attention_input.hpp"
#include "experts_explain_input.hpp"
#include "explain_input.hpp"
#include "fake_cuda/fake_cuda.hpp"
#include "oracle.hpp"
#include "route_input.hpp"

namespace flashfit::fuzz {
namespace {

void check_status(const Answer& answer, const Expected& e) {
  const flashfit_status status = answer.status;
  if (e.verdict == Expected::kRefused && status != FLASHFIT_INVALID_ARGUMENT)
    finding("accepted, although: " + e.why, answer);
  if (e.verdict == Expected::kAccepted && !e.on_gpu && status != FLASHFIT_OK)
    finding("a sound call on the CPU failed", answer);
  if (e.verdict == Expected::kAccepted && e.on_gpu && status == FLASHFIT_INVALID_ARGUMENT &&
      answer.message.rfind("variant", 0) != 0 && answer.message.rfind("workspace", 0) != 0 && e.device >= 0 &&
      e.device < static_cast<int>(fake_cuda::fake().gpus.size()))
    finding("a sound call on a GPU was refused", answer);
  const bool no_workspace = answer.message.rfind("workspace: allocate gave NULL", 0) == 0;
  if (status == FLASHFIT_NO_GPU || (status == FLASHFIT_OUT_OF_MEMORY && !no_workspace))
    finding("a failure without a cause", answer);
}

void check_written(const Arena& arena, const Answer& answer, const Expected& e, bool compute) {
  const bool may_write = compute && answer.status == FLASHFIT_OK && !e.on_gpu;
  const bool as_promised = arena.changed_only([&](std::uintptr_t at) {
    return may_write && std::ranges::any_of(e.written, [at](Range r) { return r.begin <= at && at < r.end; });
  });
  if (!as_promised) finding(may_write ? "wrote past out and lse" : "wrote although it computed nothing", answer);
}

/// `launch`: this call was to launch what it had, in `most` launches or fewer.
void check_driver(const Answer& answer, const Expected& e, bool launch, std::size_t most) {
  fake_cuda::State& driver = fake_cuda::fake();
  for (const std::string& complaint : driver.complaints) finding("the driver was misused: " + complaint, answer);
  const std::size_t launches = driver.launches.size();
  const bool launched = launch && answer.status == FLASHFIT_OK && e.on_gpu && e.writes;
  if (launched ? launches < 1 || launches > most : launches != 0)
    finding("launched when it should not, or not when it should", answer);
  if (driver.pushed != 0 || driver.relaxed != 0) finding("left the caller's context or capture mode changed", answer);
  driver.launches.clear();
}

/// An answer, and whether the call was to compute.
struct Called {
  Answer answer;
  bool compute;
};

/// Makes a call twice, each time in the same memory, of which it may touch what is its tensors' alone.
template <class Input, class Call>
void ask_twice(Bytes& bytes, std::size_t most_launches, Call call) {
  static Arena& arena = *new Arena;
  const Input input(bytes, arena);
  const Expected e = expected_of(input.args(), arena);
  if (!e.callable) return;
  arena.save();
  std::vector<std::uint8_t> computed;
  Answer first{};
  for (const bool again : {false, true}) {
    arena.restore();
    if (e.verdict == Expected::kAccepted) arena.forbid_all_but(e.on_gpu ? std::vector<Range>{} : e.memory);
    const auto [answer, compute] = call(input.args(), e);
    arena.lift();
    check_status(answer, e);
    check_written(arena, answer, e, compute);
    check_driver(answer, e, compute, most_launches);
    if (again && (answer != first || !arena.is(computed))) finding("the same call twice gave two answers", answer);
    if (!again) first = answer, computed = arena.copy();
  }
}

template <class Args>
auto calls(flashfit_status (*function)(const Args*), bool compute) {
  return [=](const Args* args, const Expected&) { return Called{ask([&] { return function(args); }), compute}; };
}

/// Of flashfit_attention_workspace.
auto calls(flashfit_status (*function)(const flashfit_attention_args*, std::uint64_t*), bool compute) {
  return [=](const flashfit_attention_args* args, const Expected& e) {
    std::uint64_t needed = ~std::uint64_t{0};
    const Answer answer = ask([&] { return function(args, &needed); });
    const bool may_need = answer.status == FLASHFIT_OK && e.on_gpu && e.writes;
    if (needed != 0 && !may_need) finding("a workspace of " + std::to_string(needed) + " bytes", answer);
    return Called{answer, compute};
  };
}

/// Of flashfit_attention_run with an allocator that has nothing: a call that asks it must fail and launch nothing.
auto calls(flashfit_status (*function)(const flashfit_attention_args*, flashfit_allocate, void*), bool compute) {
  return [=](const flashfit_attention_args* args, const Expected& e) {
    int asked = 0;
    const flashfit_allocate allocate = [](void* context, std::uint64_t) -> void* {
      ++*static_cast<int*>(context);
      return nullptr;
    };
    const Answer answer = ask([&] { return function(args, allocate, &asked); });
    const bool may_need = e.on_gpu && e.writes && args && !args->workspace;
    if (asked > (may_need ? 1 : 0)) finding("an allocator asked " + std::to_string(asked) + " times", answer);
    if (asked && answer.status != FLASHFIT_OUT_OF_MEMORY) finding("no workspace, but no such failure", answer);
    return Called{answer, compute && !asked};
  };
}

/// A sequence whose keys are cut is two launches.
template <class Function>
void attention(Bytes& bytes, Function function, bool compute) {
  ask_twice<AttentionInput>(bytes, 2, calls(function, compute));
}

void check_document(const Answer& answer, const char* json) {
  if ((answer.status == FLASHFIT_OK) != (json != nullptr))
    finding("a document with a failure, or none with success", answer);
  if (json && !nlohmann::json::accept(json)) finding(std::string("no JSON: ") + json, answer);
}

/// flashfit_explain must say of the same GPUs what the document said, in memory of exactly as many structs.
void check_plans(Bytes& bytes, const flashfit_explain_args* args, const Answer& document, const char* json) {
  constexpr std::uint32_t kSizes[] = {sizeof(flashfit_plan), 816, 0, 4, sizeof(flashfit_plan) - 1, 1024, 4097};
  const std::uint32_t size = bytes.pick(kSizes);
  const std::size_t capacity = bytes.below(4), room = std::max<std::size_t>(size, 4);
  const auto memory = std::make_unique<std::uint8_t[]>(capacity * room);
  auto* plans = capacity ? reinterpret_cast<flashfit_plan*>(memory.get()) : nullptr;
  if (plans) plans->struct_size = size;
  std::size_t count = 77;
  const Answer answer = ask([&] { return flashfit_explain(args, plans, capacity, &count); });
  if (answer.status != FLASHFIT_OK) {
    if (count != 0) finding("plans counted by a failure", answer);
    if (document.status == FLASHFIT_OK && (!plans || size == sizeof(flashfit_plan))) finding("plans refused", answer);
    return;
  }
  if (document.status != FLASHFIT_OK) finding("plans, but no document", answer);
  const auto list = nlohmann::json::parse(json);
  if (list.size() != count) finding("as many plans as the document has", answer);
  for (std::size_t i = 0; i < std::min(capacity, count); ++i) {
    const auto& plan = *reinterpret_cast<const flashfit_plan*>(memory.get() + i * size);
    if (plan.struct_size != size || list[i].at("fits").get<bool>() != (plan.fits == 1))
      finding("a plan that is not the document's", answer);
  }
}

/// Asks the same question twice; `more` may hold the first document to other answers.
template <class Input, class Args, class More>
void explain(Bytes& bytes, flashfit_status (*function)(const Args*, char**), More more) {
  const Input input(bytes);
  std::string before;
  for (const bool again : {false, true}) {
    char* json = reinterpret_cast<char*>(&json);
    const Answer answer = ask([&] { return function(input.args(), &json); });
    check_document(answer, json);
    const std::string text = answer.message + (json ? json : "");
    if (!again) more(input, answer, json);
    flashfit_free(json);
    if (answer.status == FLASHFIT_INVALID_ARGUMENT && input.is_sound()) finding("a sound question was refused", answer);
    if (answer.status == FLASHFIT_OK && !input.may_be_answered()) finding("an unsound question was answered", answer);
    if (again && text != before) finding("the same question twice gave two answers", answer);
    before = text;
  }
}

void route(Bytes& bytes) {
  switch (bytes.below(4)) {
    case 2:
      return ask_twice<RouteInput>(bytes, 1, calls(flashfit_moe_route_prepare, false));
    case 3:
      return explain<RouteExplainInput>(bytes, flashfit_moe_route_explain_json, [](const auto&...) {});
    default:
      return ask_twice<RouteInput>(bytes, 1, calls(flashfit_moe_route, true));
  }
}

void documents(Bytes& bytes) {
  for (const auto document : {flashfit_gpus_json, flashfit_images_json}) {
    char* json = nullptr;
    const Answer answer = ask([&] { return document(&json); });
    check_document(answer, json);
    flashfit_free(json);
  }
  flashfit_free(nullptr);
  if (ask([&] { return flashfit_gpus_json(nullptr); }).status != FLASHFIT_INVALID_ARGUMENT ||
      ask([&] { return flashfit_explain_json(nullptr, nullptr); }).status != FLASHFIT_INVALID_ARGUMENT ||
      ask([&] { return flashfit_moe_route_explain_json(nullptr, nullptr); }).status != FLASHFIT_INVALID_ARGUMENT ||
      ask([&] { return flashfit_fused_moe_explain_json(nullptr, nullptr); }).status != FLASHFIT_INVALID_ARGUMENT)
    finding("nowhere to put a document was accepted", {});
  if (ask([&] { return flashfit_attention_workspace(nullptr, nullptr); }).status != FLASHFIT_INVALID_ARGUMENT ||
      ask([&] { return flashfit_attention_run(nullptr, nullptr, nullptr); }).status != FLASHFIT_INVALID_ARGUMENT ||
      ask([&] { return flashfit_explain(nullptr, nullptr, bytes.byte(), nullptr); }).status !=
          FLASHFIT_INVALID_ARGUMENT)
    finding("nowhere to put a number was accepted", {});
  const std::string name(bytes.below(9), static_cast<char>(bytes.byte()));
  if (flashfit_has_feature(nullptr) || flashfit_has_feature(name.c_str()) || !flashfit_has_feature("explain"))
    finding("a feature of no such name", {});
  if (*flashfit_status_name(static_cast<flashfit_status>(bytes.below(256))) != 'F')
    finding("a status without a name", {});
  if (!bytes.empty()) explain<ExpertsExplainInput>(bytes, flashfit_fused_moe_explain_json, [](const auto&...) {});
}

}  // namespace
}  // namespace flashfit::fuzz

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  fake_cuda::fake().gpus = {fake_cuda::make_gpu("NVIDIA L4", 89), fake_cuda::make_gpu("NVIDIA H100", 90),
                            fake_cuda::make_gpu("NVIDIA GeForce RTX 2080", 75)};
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace flashfit::fuzz;
  Bytes bytes(data, size);
  switch (bytes.below(9)) {
    case 3:
      route(bytes);
      break;
    case 4:
      attention(bytes, flashfit_attention_workspace, false);
      break;
    case 5:
      attention(bytes, flashfit_attention_prepare, false);
      break;
    case 6:
      explain<ExplainInput>(bytes, flashfit_explain_json,
                            [&](const auto& input, const Answer& answer, const char* json) {
                              check_plans(bytes, input.args(), answer, json);
                            });
      break;
    case 7:
      documents(bytes);
      break;
    case 8:
      attention(bytes, flashfit_attention_run, true);
      break;
    default:
      attention(bytes, flashfit_attention_forward, true);
  }
  return 0;
}
