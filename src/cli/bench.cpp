// flashfit bench: the cases of bench/cases/forward.json, held to fp64 and timed on what this machine has.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <set>

#include "cli/bench_report.hpp"
#include "cli/command.hpp"
#include "cli/options.hpp"
#include "core/gpu/device.hpp"
#include "measure/gpu_backend.hpp"
#include "measure/profile.hpp"
#include "measure/run.hpp"

namespace flashfit::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kExample[] = R"(
Examples:
  flashfit bench --group origin --json origin.json
  flashfit bench --filter "D128 bf16 causal" --csv causal.csv
  flashfit bench --list --json
Each case is held to fp64 before and after it is timed, on fresh inputs; a wrong one has no time. Ctrl-C keeps what was
measured. Exit status: 0 all is right, 1 a case is wrong, 2 wrong use, 3 not written, 130 interrupted.
The router and layers of experts, and other libraries beside flashfit: python -m flashfit.bench.)";

struct BenchOptions {
  std::vector<std::string> groups, names;
  std::string filter, device, csv_file, json_file;
  std::int64_t warmup = 10, repeats = 100, seed = 1, seconds = 20;
  bool list = false, profile = false, ceilings = false;
  CLI::Option* json = nullptr;
  std::string command;
};

/// Operations beside attention, which `python -m flashfit.bench` alone measures: docs/results.md says why.
constexpr std::string_view kGroupsOfPython[] = {"route", "moe", "sonic"};

/// What is asked for without --group: all that is timed but random shapes; on a CPU without --filter what takes
/// minutes.
std::vector<std::string> usual_groups(bool all) {
  if (all) return {"origin", "grid", "ragged", "uneven", "odd", "decode", "options"};
  return {"origin"};
}

/// The cases of the groups (none: all of them) whose name holds the filter.
std::vector<measure::Case> chosen(const BenchOptions& b, const std::vector<std::string>& groups) {
  const Result<std::vector<measure::Case>> all = measure::expand_cases(measure::case_list());
  if (!all) wrong(all.error().message);
  std::string names;
  std::set<std::string> known;
  for (const measure::Case& c : *all)
    if (known.insert(c.group).second) names += (names.empty() ? "" : ", ") + c.group;
  for (const std::string& group : groups) {
    if (std::ranges::find(kGroupsOfPython, group) != std::end(kGroupsOfPython))
      wrong("--group", group, "is measured by python -m flashfit.bench --group " + group);
    if (!known.contains(group)) wrong("--group", group, "must be one of " + names);
  }
  for (const std::string& name : b.names)
    if (std::none_of(all->begin(), all->end(), [&](const measure::Case& c) { return c.name == name; }))
      wrong("--case", name, "must be a name of flashfit bench --list");
  std::vector<measure::Case> cases;
  const auto one_of = [](const std::vector<std::string>& texts, const std::string& text) {
    return texts.empty() || std::find(texts.begin(), texts.end(), text) != texts.end();
  };
  for (const measure::Case& c : *all)
    if (one_of(groups, c.group) && one_of(b.names, c.name) && c.name.find(b.filter) != std::string::npos)
      cases.push_back(c);
  if (cases.empty())
    wrong("--filter", b.filter,
          groups.empty() ? "is in no case's name; see flashfit bench --list"
                         : fmt::format("is in no name of {}; see flashfit bench --list", fmt::join(groups, ", ")));
  return cases;
}

int list(const BenchOptions& b) {
  if (!b.json_file.empty()) wrong("--json", b.json_file, "takes no file with --list: the list goes to standard output");
  Json objects = Json::array();
  for (const measure::Case& c : chosen(b, b.groups)) {
    if (b.json->count() > 0)
      objects.push_back(json_of(c));
    else
      fmt::print("{}\n", c.name);
  }
  if (b.json->count() > 0) fmt::print("{}\n", objects.dump(1));
  return kOk;
}

/// The command as it was typed, folders of files left out: they are nobody else's business.
std::string typed(const CLI::App& command) {
  std::string text = "flashfit bench";
  for (const CLI::Option* option : command.parse_order()) {
    if (!text.ends_with(option->get_name())) text += " " + option->get_name();
    for (const std::string& value : option->results()) {
      const bool file = option->get_type_name() == "FILE";
      const std::string shown = file ? value.substr(value.rfind('/') + 1) : value;
      if (option->get_expected_max() > 0)
        text += shown.find(' ') == std::string::npos ? " " + shown : fmt::format(" '{}'", shown);
    }
  }
  return text;
}

volatile std::sig_atomic_t interrupted = 0;

/// The GPU, what it is and what it can reach.
Result<measure::Backend> on_gpu(measure::Run& run, BenchProgress& progress) {
  Result<std::unique_ptr<measure::GpuBed>> opened = measure::GpuBed::open();
  if (!opened) return tl::unexpected(opened.error());
  const std::shared_ptr<measure::GpuBed> bed = std::move(*opened);
  const auto nvml = std::make_shared<Nvml>(pci_bus_id(0));
  if (!nvml->there()) fmt::print(stderr, "flashfit: no NVML here: throttling, highest clocks and power stay unknown\n");
  run.gpu = gpu_json(*bed, *nvml);
  progress.show(0, "ceilings");
  Result<measure::Ceilings> ceilings = measure_ceilings(*bed);
  if (!ceilings) return tl::unexpected(ceilings.error());
  run.ceilings = std::move(*ceilings);
  return gpu_backend(bed, nvml);
}

/// What this GPU can reach, as `ceilings` of a result file: for other programs that measure here.
int ceilings() {
  Result<std::unique_ptr<measure::GpuBed>> bed = measure::GpuBed::open();
  if (!bed) wrong("--ceilings measures a GPU: " + bed.error().message);
  const Result<measure::Ceilings> found = measure_ceilings(**bed);
  if (!found) wrong("--ceilings: " + found.error().message);
  fmt::print("{}\n", json_of(*found).dump(1));
  return kOk;
}

/// What counts a case. The first one is counted at once: where ncu cannot count here, nobody waits minutes to hear it.
std::function<Json(const measure::Case&)> profiler(const measure::Case& first) {
  const Result<measure::NsightCompute> ncu = measure::NsightCompute::find();
  if (!ncu) wrong("--profile needs Nsight Compute: " + ncu.error().message);
  const Result<Json> of_first = measure::profile_of(first, *ncu);
  if (!of_first && of_first.error().code == Code::kMisfit) wrong("--profile: " + of_first.error().message);
  return [ncu = *ncu, of_first, name = first.name](const measure::Case& c) -> Json {
    const Result<Json> found = c.name == name ? of_first : measure::profile_of(c, ncu);
    return found ? *found : Json{{"message", found.error().message}};
  };
}

int measure(const BenchOptions& b) {
  if (b.json->count() > 0 && b.json_file.empty()) wrong("--json", "", "needs a file; --list alone goes without");
  if (!b.device.empty() && b.device != "cpu" && b.device != "gpu") wrong("--device", b.device, "must be cpu or gpu");
  const Result<Gpu> gpu = b.device == "cpu" ? fail(Code::kNoGpu, "") : live_gpu(0);
  if (!gpu && b.device == "gpu") wrong("--device", b.device, gpu.error().message);
  if (b.profile && !gpu) wrong("--profile counts what a GPU does, and this run measures the CPU");
  std::vector<measure::Case> cases =
      chosen(b, b.groups.empty() && b.names.empty() ? usual_groups(gpu.has_value() || !b.filter.empty()) : b.groups);
  if (!gpu) {
    const auto refused = std::erase_if(cases, [](const measure::Case& c) { return c.spare_rows != 0; });
    if (cases.empty()) wrong("--device 'cpu': it refuses rows after the last sequence, which all of these cases have");
    if (refused != 0)
      fmt::print(stderr, "{} cases of rows after the last sequence, which a CPU refuses, are not measured\n", refused);
  }

  measure::Run run;
  run.command = b.command;
  run.options = {.warmup = static_cast<int>(b.warmup),
                 .repeats = static_cast<int>(b.repeats),
                 .seed = static_cast<std::uint64_t>(b.seed),
                 .seconds = static_cast<double>(b.seconds),
                 .interrupted = [] { return interrupted != 0; }};
  run.json_file = b.json_file;
  run.csv_file = b.csv_file;
  std::signal(SIGINT, [](int) { interrupted = 1; });

  if (b.profile) run.profile = profiler(cases.front());
  BenchProgress progress(cases.size());
  run.before = [&](std::size_t done, const std::string& name) { progress.show(done, name); };
  Result<measure::Backend> backend = gpu ? on_gpu(run, progress) : measure::cpu_backend();
  if (!backend) wrong("--device", "gpu", backend.error().message);
  const Result<Json> content = measure::run_cases(cases, *backend, run);
  progress.clear();
  if (!content) {
    fmt::print(stderr, "flashfit: {}\n", content.error().message);
    return kFailed;
  }
  print_bench(*content);
  if (interrupted != 0) return 128 + SIGINT;
  const Json& results = content->at("cases");
  const bool right = std::all_of(results.begin(), results.end(), [](const Json& c) { return c.at("correct") == true; });
  return right ? kOk : kWrong;
}

}  // namespace

void add_bench(CLI::App& app, int& status) {
  CLI::App* command =
      app.add_subcommand("bench", "Holds attention's list of cases to fp64 and times it on this machine.");
  const auto b = std::make_shared<BenchOptions>();
  command
      ->add_option("--group", b->groups,
                   "cases of this group alone; may be repeated (default: all but wild and those that are not timed; on "
                   "a CPU without "
                   "--filter origin)")
      ->type_name("NAME")
      ->take_all()
      ->expected(1);
  command->add_option("--case", b->names, "the case of exactly this name; may be repeated")
      ->type_name("NAME")
      ->take_all()
      ->expected(1);
  command->add_option("--filter", b->filter, "cases whose name holds this text")->type_name("TEXT");
  command->add_option("--device", b->device, "cpu or gpu (default: the GPU where there is one)")->type_name("NAME");
  add_whole_number(*command, "--warmup", b->warmup, 0, 100000,
                   "samples before those that count, more until times are stable (default 10)");
  add_whole_number(*command, "--repeats", b->repeats, 1, 100000, "samples of a case (default 100)");
  add_whole_number(*command, "--seconds", b->seconds, 1, 100000,
                   "a case's samples end after this many seconds, if there are five (default 20)");
  add_whole_number(*command, "--seed", b->seed, 0, 1 << 30, "of the random inputs (default 1)");
  b->json = command->add_option("--json", b->json_file, "the result file (docs/results.md); with --list: objects")
                ->type_name("FILE")
                ->expected(0, 1);
  command->add_option("--csv", b->csv_file, "one line a case")->type_name("FILE");
  command->add_flag("--profile", b->profile, "each case once more under Nsight Compute (ncu), its counts into --json");
  CLI::Option* const ceilings_alone =
      command->add_flag("--ceilings", b->ceilings, "measure what this GPU can reach, and print that alone as JSON");
  CLI::Option* const list_alone = command->add_flag("--list", b->list, "print the cases, measure nothing");
  for (const char* const of_measuring :
       {"--device", "--warmup", "--repeats", "--seconds", "--seed", "--csv", "--profile"}) {
    list_alone->excludes(command->get_option(of_measuring));
    ceilings_alone->excludes(command->get_option(of_measuring));
  }
  for (const char* const of_cases : {"--group", "--case", "--filter", "--json", "--list"})
    ceilings_alone->excludes(command->get_option(of_cases));
  command->footer(kExample);
  command->callback([b, command, &status] {
    b->command = typed(*command);
    status = b->list ? list(*b) : b->ceilings ? ceilings() : measure(*b);
  });
}

}  // namespace flashfit::cli
