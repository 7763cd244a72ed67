#include "cli/emulate_ptx.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include "cli/command.hpp"
#include "cli/emulate_report.hpp"
#include "cli/npy.hpp"
#include "cli/options.hpp"
#include "cli/ptx_argument.hpp"
#include "cli/ticker.hpp"
#include "core/base/printable.hpp"
#include "core/gpu/target.hpp"
#include "proof/ptx/launch.hpp"
#include "proof/ptx/parser.hpp"

namespace flashfit::cli {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostText = std::size_t{64} << 20;

/// Options that both ways of running have.
const std::set<std::string> kShared = {"--help",      "--gpu",      "--schedule", "--seed", "--repeat",
                                       "--data-seed", "--numerics", "--threads",  "--json"};
const std::set<std::string> kOfPtx = {"--ptx",          "--entry",   "--grid", "--block",       "--arg",
                                      "--shared-bytes", "--cluster", "--save", "--instructions"};

/// "4", "4,2" or "4,2,1".
emu::Index3 parse_extent(const std::string& option, const std::string& text) {
  int sizes[3] = {1, 1, 1};
  std::size_t begin = 0;
  for (int axis = 0; begin <= text.size(); ++axis) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const auto size = whole_number(std::string_view(text).substr(begin, end - begin), 1, INT32_MAX);
    if (!size || axis == 3)
      wrong(option, text, "must be up to three whole numbers from 1 to 2147483647, such as 8 or 8,4,1");
    sizes[axis] = static_cast<int>(*size);
    begin = end + 1;
  }
  return {sizes[0], sizes[1], sizes[2]};
}

/// What a tensor holds after a run.
struct Contents {
  std::size_t written = 0, nan = 0, infinite = 0;
  double least = 0, most = 0, mean = 0;  ///< of finite numbers

  explicit Contents(const PtxTensor& t) {
    std::size_t finite = 0;
    double sum = 0;
    for (std::size_t i = 0; i < t.elements(); ++i) {
      if (t.is_unwritten(i)) continue;
      ++written;
      const double x = t.at(i);
      if (std::isnan(x)) {
        ++nan;
      } else if (std::isinf(x)) {
        ++infinite;
      } else {
        least = finite == 0 ? x : std::min(least, x);
        most = finite == 0 ? x : std::max(most, x);
        sum += x;
        ++finite;
      }
    }
    if (finite != 0) mean = sum / static_cast<double>(finite);
  }
};

/// The launch, and what was asked of it.
struct Launch {
  std::string file;
  const ptx::Entry& entry;
  const ptx::Program& program;
  ptx::Shape shape;
  std::size_t shared_limit;
  PtxArguments& arguments;
};

struct PtxRun {
  const emu::Options& options;
  double seconds = 0;
  emu::Stats stats;
  std::string finding;             ///< "": none
  std::vector<bool> as_the_first;  ///< of each tensor: whether it holds what the first run left
};

std::size_t shared_of(const Launch& l) { return l.program.static_shared + l.shape.dynamic_shared; }

Json json_of(const Launch& l, const PtxRun& r) {
  Json counts, tensors = Json::array();
  for (const emu::Counter& c : emu::kCounters) counts[c.name] = r.stats.*c.value;
  const bool ran = r.finding.empty();
  if (ran)
    for (std::size_t i = 0; i < l.arguments.tensors().size(); ++i) {
      PtxTensor& t = l.arguments.tensors()[i];
      if (!t.writable()) continue;
      const Contents c(t);
      tensors.push_back({{"name", t.name()},
                         {"dtype", t.type().name},
                         {"shape", t.shape()},
                         {"access", t.access()},
                         {"written", c.written},
                         {"nan", c.nan},
                         {"infinite", c.infinite},
                         {"least", c.least},
                         {"most", c.most},
                         {"mean", c.mean},
                         {"as_the_first_run", static_cast<bool>(r.as_the_first[i])}});
    }
  const auto extent = [](const emu::Index3& x) { return Json{x.x, x.y, x.z}; };
  return {{"ptx", l.file},
          {"entry", l.program.name},
          {"target", fmt::format("sm_{}", l.program.target)},
          {"grid", extent(l.shape.grid)},
          {"block", extent(l.shape.threads)},
          {"cluster", l.shape.cluster},
          {"shared_memory_bytes", shared_of(l)},
          {"shared_memory_limit_bytes", l.shared_limit},
          {"schedule", name_of(r.options.schedule)},
          {"seed", r.options.seed},
          {"numerics", r.options.tensor_core ? "tensor-core" : "fp32"},
          {"clean", ran},
          {"finding", ran ? Json(nullptr) : Json(r.finding)},
          {"seconds", r.seconds},
          {"counts", ran ? counts : Json(nullptr)},
          {"tensors", ran ? tensors : Json(nullptr)}};
}

void print(const Launch& l, const PtxRun& r, bool first) {
  if (first) {
    print_line("ptx", fmt::format("{}, entry {} for sm_{}", l.file, l.program.name, l.program.target));
    const emu::Index3 &grid = l.shape.grid, &block = l.shape.threads;
    print_line("launch",
               fmt::format("{} x {} x {} blocks{} of {} x {} x {} threads, {} of {} B shared memory", grid.x, grid.y,
                           grid.z, l.shape.cluster > 1 ? fmt::format(" in clusters of {}", l.shape.cluster) : "",
                           block.x, block.y, block.z, shared_of(l), l.shared_limit));
  }
  print_line("ran", fmt::format("{} schedule, seed {}, {}, in {:.2g} s", name_of(r.options.schedule), r.options.seed,
                                r.options.tensor_core ? "the tensor core's sums" : "fp32 sums", r.seconds));
  if (r.finding.empty()) {
    if (first) print_counts(r.stats);
    for (std::size_t i = 0; i < l.arguments.tensors().size(); ++i) {
      PtxTensor& t = l.arguments.tensors()[i];
      if (!t.writable()) continue;
      const Contents c(t);
      const std::string unwritten =
          c.written == t.elements() ? "" : fmt::format(", {} not written", t.elements() - c.written);
      const std::string odd = c.nan + c.infinite == 0 ? "" : fmt::format(", {} NaN, {} infinite", c.nan, c.infinite);
      print_line("tensor", fmt::format("{} {} {}: {:.4g} to {:.4g}, mean {:.4g}{}{}{}", t.access(), t.name(),
                                       t.in_words(), c.least, c.most, c.mean, odd, unwritten,
                                       r.as_the_first[i] ? "" : ", not the bytes of the first run"));
    }
  }
  print_line("finding", r.finding.empty() ? "none" : r.finding);
}

/// NAME=FILE pairs: which tensor goes where.
std::vector<std::pair<PtxTensor*, std::string>> to_save(const PtxOptions& o, PtxArguments& arguments) {
  std::vector<std::pair<PtxTensor*, std::string>> all;
  for (const std::string& text : o.saved) {
    const std::size_t sign = text.find('=');
    const std::string name = text.substr(0, sign);
    const auto found = std::ranges::find(arguments.tensors(), name, &PtxTensor::name);
    if (sign == std::string::npos || found == arguments.tensors().end()) {
      std::string names;
      for (const PtxTensor& t : arguments.tensors()) names += (names.empty() ? "" : ", ") + t.name();
      wrong("--save", text, "must be NAME=FILE, of a tensor: " + (names.empty() ? "there is none" : names));
    }
    all.emplace_back(&*found, text.substr(sign + 1));
  }
  return all;
}

void save(PtxTensor& t, const std::string& path) {
  const bool npy = std::filesystem::path(path).extension() == ".npy";
  const std::vector<std::byte> file = npy ? write_npy(t.type().descr, t.shape(), t.bytes()) : std::vector<std::byte>{};
  if (const Result<void> written = write_file(path, npy ? std::span<const std::byte>(file) : t.bytes()); !written)
    throw std::runtime_error(fmt::format("--save '{}': {}", path, written.error().message));
}

emu::Index3 block_of(const PtxOptions& o, const ptx::Entry& entry) {
  if (!o.block.empty()) return parse_extent("--block", o.block);
  const int* const size = entry.required_threads;
  if (size[0] == 0) wrong("--block: not given, and the entry does not say it (.reqntid)");
  return {size[0], size[1], size[2]};
}

/// Refuses a launch that no GPU would take, by the option that asked for it.
void check_shape(const PtxOptions& o, const ptx::Program& program, const ptx::Shape& shape, std::size_t shared_limit) {
  const auto found = ptx::wrong_shape(program, shape, shared_limit);
  if (!found) return;
  const auto number = [](std::int64_t value) { return value == 0 ? "" : std::to_string(value); };
  std::string option, given;
  switch (found->part) {
    using enum ptx::ShapeError::Part;
    case kGrid:
      option = "--grid", given = o.grid;
      break;
    case kThreads:
      option = "--block", given = o.block;
      break;
    case kCluster:
      option = "--cluster", given = number(o.cluster);
      break;
    case kShared:
      option = "--shared-bytes", given = number(o.shared_bytes);
      break;
  }
  if (given.empty()) wrong(fmt::format("{}: {}", program.name, found->words));  // the entry asks for it
  wrong(option, given, found->words);
}

const ptx::Entry& entry_of(const ptx::Module& module, const std::string& name) {
  constexpr std::size_t kMostNames = 20;
  std::string names;
  for (std::size_t i = 0; i < module.entries.size(); ++i) {
    const ptx::Entry& e = module.entries[i];
    if (e.name == name || (name.empty() && module.entries.size() == 1)) return e;
    if (i < kMostNames) names += (names.empty() ? "" : ", ") + printable(e.name, 200);
  }
  if (module.entries.size() > kMostNames) names += fmt::format(" and {} more", module.entries.size() - kMostNames);
  if (names.empty()) wrong("--ptx", module.name, "has no entry");
  if (name.empty()) wrong("--entry: not given, and there are several: " + names);
  wrong("--entry", name, "is not there: there are " + names);
}

}  // namespace

void PtxOptions::add_to(CLI::App& app) {
  app.add_option("--ptx", file, "a file of PTX, whose entry is run instead: what compilers made of anybody's kernel")
      ->type_name("FILE");
  app.add_option("--entry", entry, "with --ptx: the kernel's name there (default: the only one)")->type_name("NAME");
  app.add_option("--grid", grid, "with --ptx: blocks (default 1)")->type_name("X[,Y[,Z]]");
  app.add_option("--block", block, "with --ptx: threads of a block (default: what the entry requires)")
      ->type_name("X[,Y[,Z]]");
  app.add_option(
         "--arg", arguments,
         "with --ptx, once for each parameter, in order: a number; a tensor of random numbers, [NAME=][in:|out:|"
         "inout:]TYPE[N,...], then perhaps =NUMBER, =LOW..HIGH or @FILE; @FILE.npy; TYPE:NUMBER; (VALUE, ...) "
         "for a struct; bytes@FILE")
      ->type_name("SPEC")
      ->take_all()
      ->expected(1);
  add_whole_number(app, "--shared-bytes", shared_bytes, 0, 1 << 20, "with --ptx: dynamic shared memory (default 0)");
  add_whole_number(app, "--cluster", cluster, 0, 16,
                   "with --ptx: blocks of a cluster (default: what the entry says, or 1)");
  app.add_option("--save", saved,
                 "with --ptx: a tensor to a file after the last run, .npy or its bytes; may be repeated")
      ->type_name("NAME=FILE")
      ->take_all()
      ->expected(1);
  add_whole_number(app, "--instructions", instructions, 1, std::int64_t{1} << 48,
                   "with --ptx: of a block, a warp's each, after which it is taken to run for ever (default 2^32)");
}

void check_options(const CLI::App& app, bool is_ptx) {
  for (const CLI::Option* o : app.get_options()) {
    const std::string name = o->get_name();
    if (o->count() == 0 || kShared.contains(name) || kOfPtx.contains(name) == is_ptx) continue;
    wrong(is_ptx ? fmt::format("{}: is of the table's kernels; --ptx brings its own", name)
                 : fmt::format("{}: needs --ptx", name));
  }
}

int run_ptx(const PtxOptions& o, const EmulateOptions& e) {
  const Result<std::vector<std::byte>> bytes = read_file(o.file, kMostText);
  if (!bytes) wrong("--ptx", o.file, bytes.error().message);
  std::string_view text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  text = text.substr(0, text.find('\0'));
  const Result<ptx::Module> module = ptx::parse(std::filesystem::path(o.file).filename().string(), text);
  if (!module) wrong(module.error().message);
  const ptx::Entry& entry = entry_of(*module, o.entry);
  const auto program = ptx::decode(*module, entry.name);
  if (!program) wrong(program.error().message);
  std::optional<Gpu> gpu;
  if (!e.gpu.names.empty()) {
    CudaVersion driver = 0;
    const std::vector<Gpu> gpus = e.gpu.gpus(driver);
    if (gpus.size() != 1) wrong("--gpu: one is enough for --ptx");
    gpu = gpus.front();
    if (!runs_on({(*program)->target, Target::Kind::kPtx}, gpu->cc))
      wrong("--gpu", e.gpu.names.front(),
            fmt::format("{} ({}) is older than the file's sm_{}", gpu->name, gpu->cc.str(), (*program)->target));
  }
  const std::vector<emu::Options> runs = gpu ? e.runs(*gpu) : e.runs(emu::Options{}.shared_limit, (*program)->target);
  PtxArguments arguments(entry, o.arguments);
  const auto saved = to_save(o, arguments);
  Launch launch{o.file,
                entry,
                **program,
                {.grid = parse_extent("--grid", o.grid),
                 .threads = block_of(o, entry),
                 .dynamic_shared = static_cast<std::size_t>(o.shared_bytes),
                 .cluster = o.cluster != 0 ? static_cast<int>(o.cluster) : (*program)->cluster,
                 .most_steps = static_cast<std::uint64_t>(o.instructions)},
                runs.front().shared_limit,
                arguments};
  check_shape(o, **program, launch.shape, launch.shared_limit);
  std::vector<Json> objects;
  std::vector<std::vector<std::byte>> first;
  std::size_t findings = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    emu::Options options = runs[i];
    options.kernel = (*program)->name;
    PtxRun r{.options = options, .stats = {}, .finding = {}, .as_the_first = {}};
    arguments.fill(static_cast<std::uint64_t>(e.data_seed));
    const auto start = Clock::now();
    const Result<emu::Stats> ran = [&] {
      const Ticker ticker(fmt::format("run {} of {}, {}", i + 1, runs.size(), options.kernel));
      return ptx::launch(**program, launch.shape, arguments.bytes(), arguments.memory(), options);
    }();
    r.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    if (!ran && ran.error().code == Code::kInvalidArgument) wrong(ran.error().message);
    if (ran)
      r.stats = *ran;
    else
      r.finding = ran.error().message;
    findings += r.finding.empty() ? 0 : 1;
    for (PtxTensor& t : arguments.tensors()) {
      const auto bytes = t.writable() ? t.bytes() : std::span<std::byte>();
      if (i == 0) first.emplace_back(bytes.begin(), bytes.end());
      r.as_the_first.push_back(i == 0 || std::ranges::equal(bytes, first[r.as_the_first.size()]));
    }
    if (e.how.json)
      objects.push_back(json_of(launch, r));
    else
      print(launch, r, i == 0);
  }
  for (const auto& [tensor, path] : saved) save(*tensor, path);
  if (e.how.json)
    fmt::print("{}\n", Json(objects).dump(2));
  else if (runs.size() > 1)
    print_line("runs", fmt::format("{}, {} with a finding", runs.size(), findings));
  return findings == 0 ? kOk : kFinding;
}

}  // namespace flashfit::cli
