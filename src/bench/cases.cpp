#include "bench/cases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>
#include <stdexcept>

#include "bench/case_rules.hpp"

namespace flashfit::bench {
namespace {

using Json = nlohmann::ordered_json;
using Lengths = std::vector<std::int64_t>;

constexpr const char* kKeys[] = {"label",     "stands_for", "batch",        "seqlen_q", "seqlen_k",     "lengths_q",
                                 "lengths_k", "tokens",     "hidden",       "windows",  "shifted",      "heads",
                                 "heads_kv",  "head_dim",   "dtype",        "causal",   "heads_per_kv", "memory",
                                 "tolerance", "magnitude",  "softmax_scale"};

/// What is wrong with the list; the message is a line without the group's name.
struct Mistake : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <class T>
T get(const Json& entry, const char* key, T otherwise) {
  return entry.contains(key) ? entry.at(key).get<T>() : std::move(otherwise);
}

template <class Named, std::size_t N>
Named named(const Json& entry, const char* key, const Named (&all)[N], std::optional<Named> otherwise = {}) {
  if (!entry.contains(key) && otherwise) return *otherwise;
  const auto text = entry.at(key).get<std::string>();
  for (const Named one : all)
    if (text == name_of(one)) return one;
  throw Mistake(fmt::format("{} is '{}', which is none", key, text));
}

/// An entry with lists as values, lengths apart, stands for every combination; the last list varies fastest.
std::vector<Json> combinations(const Json& entry) {
  std::vector<Json> all{Json::object()};
  for (const auto& [key, value] : entry.items()) {
    const bool axis = value.is_array() && key != "lengths_q" && key != "lengths_k";
    std::vector<Json> grown;
    for (const Json& one : all) {
      for (const Json& choice : axis ? value : Json::array({value})) {
        grown.push_back(one);
        grown.back()[key] = choice;
      }
    }
    all = std::move(grown);
  }
  return all;
}

void set_lengths(Case& c, const Json& e) {
  c.variable_length = e.contains("lengths_q") || e.contains("windows");
  if (e.contains("windows")) {
    const Json& w = e.at("windows");
    c.lengths_q = c.lengths_k = window_lengths({w.at("frames"), w.at("height"), w.at("width")}, e.at("shifted"));
  } else if (c.variable_length) {
    c.lengths_q = e.at("lengths_q").get<Lengths>();
    c.lengths_k = get(e, "lengths_k", c.lengths_q);
  } else {
    const auto queries = e.at("seqlen_q").get<std::int64_t>();
    const auto batch =
        e.contains("tokens") ? e.at("tokens").get<std::int64_t>() / queries : get(e, "batch", std::int64_t{1});
    c.lengths_q.assign(batch, queries);
    c.lengths_k.assign(batch, get(e, "seqlen_k", queries));
  }
}

constexpr DType kTypes[] = {DType::kF16, DType::kBF16, DType::kF32};
constexpr Memory kMemories[] = {Memory::kContiguous, Memory::kPackedQkv, Memory::kHeadsFirst, Memory::kPaddedRows};

Case read_case(const Json& e) {
  for (const auto& [key, value] : e.items())
    if (std::find(std::begin(kKeys), std::end(kKeys), key) == std::end(kKeys))
      throw Mistake(fmt::format("the key '{}' is not known", key));
  Case c;
  set_lengths(c, e);
  c.dtype = named(e, "dtype", kTypes);
  c.head_dim = e.at("head_dim");
  c.heads_q =
      e.contains("hidden") ? e.at("hidden").get<std::int64_t>() / c.head_dim : e.at("heads").get<std::int64_t>();
  c.heads_kv =
      e.contains("heads_per_kv") ? c.heads_q / e.at("heads_per_kv").get<std::int64_t>() : get(e, "heads_kv", c.heads_q);
  c.causal = get(e, "causal", false);
  c.memory = named(e, "memory", kMemories, std::optional(Memory::kContiguous));
  c.softmax_scale = get(e, "softmax_scale", 0.0);
  c.magnitude = get(e, "magnitude", 1.0);
  c.tolerance = get(e, "tolerance", 2.0);
  return c;
}

std::string join(const Lengths& lengths) { return fmt::format("{}", fmt::join(lengths, "+")); }

/// "B2 S127x300": what lengths are called in a case's name.
std::string shape_name(const Case& c, const Json& e) {
  if (e.contains("windows")) {
    const Json& w = e.at("windows");
    const auto frames = w.at("frames").get<int>();
    return fmt::format("SeedVR2 {} frame{} {}x{}, {} {} windows", frames, frames == 1 ? "" : "s",
                       w.at("height").get<int>(), w.at("width").get<int>(), c.lengths_q.size(),
                       e.at("shifted").get<bool>() ? "shifted" : "regular");
  }
  const bool self = c.lengths_q == c.lengths_k;
  if (c.variable_length) return fmt::format("varlen {}{}", join(c.lengths_q), self ? "" : " keys " + join(c.lengths_k));
  return fmt::format("B{} S{}{}", c.lengths_q.size(), c.lengths_q[0], self ? "" : fmt::format("x{}", c.lengths_k[0]));
}

void finish(Case& c, const std::string& group, const Json& e) {
  if (c.heads_q < 1 || c.heads_kv < 1 || c.head_dim < 1 || c.heads_q % c.heads_kv != 0)
    throw Mistake(fmt::format("{} heads over {} of head_dim {} make no problem", c.heads_q, c.heads_kv, c.head_dim));
  if (c.lengths_q.empty() || c.lengths_q.size() != c.lengths_k.size())
    throw Mistake(fmt::format("{} lengths of queries and {} of keys", c.lengths_q.size(), c.lengths_k.size()));
  if (c.memory == Memory::kPackedQkv && (c.lengths_q != c.lengths_k || c.heads_q != c.heads_kv))
    throw Mistake("packed_qkv needs as many keys as queries, and as many heads");
  if (c.memory == Memory::kHeadsFirst && c.variable_length) throw Mistake("heads_first is for dense tensors");
  std::string heads = fmt::format("H{}", c.heads_q);
  if (c.heads_kv != c.heads_q) heads += fmt::format("/{}", c.heads_kv);
  const std::string label = e.contains("label") ? e.at("label").get<std::string>() + " " : "";
  c.group = group;
  c.name = fmt::format("{}/{}{} {} D{} {} {}", group, label, shape_name(c, e), heads, c.head_dim, name_of(c.dtype),
                       c.causal ? "causal" : "full");
  if (c.memory != Memory::kContiguous) c.name += fmt::format(" {}", name_of(c.memory));
  if (c.softmax_scale != 0) c.name += fmt::format(" scale {}", c.softmax_scale);
  if (c.magnitude != 1) c.name += fmt::format(" q x {}", c.magnitude);
  if (c.softmax_scale == 0) c.softmax_scale = 1 / std::sqrt(static_cast<double>(c.head_dim));
}

std::vector<Case> expand_entry(const Json& entry, const Json& group) {
  const auto name = group.at("name").get<std::string>();
  std::vector<Case> cases;
  if (entry.contains("random")) {
    cases = random_cases(entry.at("random"), entry.at("seed"));
    for (std::size_t i = 0; i < cases.size(); ++i) finish(cases[i], name, {{"label", fmt::format("{:03}", i)}});
  } else {
    for (const Json& one : combinations(entry)) {
      cases.push_back(read_case(one));
      finish(cases.back(), name, one);
    }
  }
  for (Case& c : cases) {
    c.stands_for = get(entry, "stands_for", group.at("stands_for").get<std::string>());
    c.timed = get(group, "timed", true);
  }
  return cases;
}

double sum(const Lengths& lengths) { return std::accumulate(lengths.begin(), lengths.end(), 0.0); }

}  // namespace

const char* name_of(Memory memory) {
  switch (memory) {
    case Memory::kPackedQkv:
      return "packed_qkv";
    case Memory::kHeadsFirst:
      return "heads_first";
    case Memory::kPaddedRows:
      return "padded_rows";
    case Memory::kContiguous:
      break;
  }
  return "contiguous";
}

Work work_of(const Case& c) {
  double pairs = 0;
  for (std::size_t b = 0; b < c.lengths_q.size(); ++b) {
    const auto q = static_cast<double>(c.lengths_q[b]), k = static_cast<double>(c.lengths_k[b]);
    const double seen = std::min(q, k);  // rows past it see no key; of the rest the triangle is hidden
    pairs += c.causal ? seen * k - seen * (seen - 1) / 2 : q * k;
  }
  pairs *= static_cast<double>(c.heads_q);
  const double rows =
      2 * (sum(c.lengths_q) * static_cast<double>(c.heads_q) + sum(c.lengths_k) * static_cast<double>(c.heads_kv));
  const auto dim = static_cast<double>(c.head_dim);
  return {.flop = 4 * pairs * dim, .exp = pairs, .bytes = rows * dim * size_of(c.dtype)};
}

Result<std::vector<Case>> expand_cases(std::string_view json) {
  const auto wrong = [](const std::string& what) { return fail(Code::kInvalidArgument, "the list of cases: " + what); };
  std::string where = "the text";
  try {
    const Json list = Json::parse(json);
    std::vector<Case> all;
    std::set<std::string> names;
    for (const Json& group : list.at("groups")) {
      int number = 0;
      for (const Json& entry : group.at("cases")) {
        where = fmt::format("group {}, entry {}", group.at("name").get<std::string>(), ++number);
        for (Case& c : expand_entry(entry, group)) {
          if (!names.insert(c.name).second) throw Mistake(fmt::format("a second case is called '{}'", c.name));
          all.push_back(std::move(c));
        }
      }
    }
    return all;
  } catch (const Mistake& mistake) {
    return wrong(fmt::format("{}: {}", where, mistake.what()));
  } catch (const Json::exception& error) {
    return wrong(fmt::format("{}: {}", where, error.what()));
  }
}

Json json_of(const Case& c) {
  Json problem = {{"dtype", name_of(c.dtype)},       {"head_dim", c.head_dim}, {"heads_q", c.heads_q},
                  {"heads_kv", c.heads_kv},          {"causal", c.causal},     {"memory", name_of(c.memory)},
                  {"softmax_scale", c.softmax_scale}};
  if (c.magnitude != 1) problem["magnitude"] = c.magnitude;
  if (c.variable_length) {
    problem["lengths_q"] = c.lengths_q;
    problem["lengths_k"] = c.lengths_k;
  } else {
    problem["batch"] = c.lengths_q.size();
    problem["seqlen_q"] = c.lengths_q[0];
    problem["seqlen_k"] = c.lengths_k[0];
  }
  const Work work = work_of(c);
  return {{"name", c.name},
          {"group", c.group},
          {"stands_for", c.stands_for},
          {"timed", c.timed},
          {"tolerance", c.tolerance},
          {"problem", std::move(problem)},
          {"work", {{"flop", work.flop}, {"exp", work.exp}, {"bytes", work.bytes}}}};
}

}  // namespace flashfit::bench
