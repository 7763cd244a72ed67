// What stands before a line in logs. Prefixes are stacked: a container's time, then a launcher's rank, then a logger's
// level.
#include "doctor/pasted/pasted_text.hpp"
#include "doctor/pasted/regex.hpp"

namespace flashfit::doctor::pasted {
namespace {

constexpr const char* kPrefixes[] = {
    // docker logs -t, kubectl logs --timestamps, GitHub Actions, Python's logging: 2026-09-07T10:11:12.123Z
    R"(\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\]?:?[ \t]?)",
    // [10:11:12] or 10:11:12.123
    R"(\[?\d\d:\d\d:\d\d(?:[.,]\d+)?\]?[ \t])",
    // syslog, journalctl: Sep  7 10:11:12 host program[123]:
    R"([A-Z][a-z][a-z] [ \d]\d \d\d:\d\d:\d\d [\w.-]+ [\w./@-]+(?:\[\d+\])?: ?)",
    // containerd's and Kubernetes' files: stderr F
    R"(std(?:out|err) [FP] )",
    // torchrun: [rank0]: or [default0]:, srun -l: 0:, mpirun: [1,0]<stderr>:
    R"(\[?(?:rank|default) ?\d+\]?:[ \t]?)",
    R"(\[\d+,\d+\]<std(?:out|err)>:[ \t]?)",
    R"(\d{1,5}: )",
    // ray, vLLM: (EngineCore_DP0 pid=123), (Worker_TP0 pid=1, ip=10.0.0.1)
    R"(\([\w .:-]*pid=\d+(?:, ip=[\d.]+)?\)[ \t]?)",
    // vLLM's logger: ERROR 09-07 10:11:12 [core.py:708]
    R"((?:DEBUG|INFO|WARNING|ERROR|CRITICAL) \d\d-\d\d \d\d:\d\d:\d\d (?:\[[\w./]+:\d+\] ?)?)",
    // glog, torch.distributed: E0907 10:11:12.123000 123 torch/x.py:1] [0/0]
    R"([IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ [\w./<>-]+:\d+\] ?(?:\[[\d/_]+\] ?)?)",
    // docker compose: web-1  |, BuildKit: #12 3.456
    R"([\w.-]+[-_]\d+ +\| ?)",
    R"(#\d+ \d+\.\d+ )",
    // quotes in mail and Markdown
    R"(> ?)",
    // boxes of pip and rich: a vertical bar in UTF-8
    "[ \t]*\xe2\x94\x82 ?",
};

const Regex& stacked_prefixes() {
  static const Regex kStacked = [] {
    std::string pattern = "(?:";
    for (const char* const prefix : kPrefixes) pattern += std::string(prefix == kPrefixes[0] ? "" : "|") + prefix;
    return Regex((pattern + ")+").c_str());
  }();
  return kStacked;
}

/// No prefix begins otherwise: most lines are done here.
bool may_begin(std::string_view line) {
  const char c = line.front();
  if (c == ' ' || c == '\t') return line.find('\xe2') != std::string_view::npos;
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
         std::string_view("[(#>_.-\xe2").find(c) != std::string_view::npos;
}

}  // namespace

std::string_view without_prefixes(std::string_view line) {
  constexpr std::size_t kLongest = 320;  // of all prefixes together: no line is searched to its end
  constexpr std::string_view kBar = "\xe2\x94\x82";
  if (line.ends_with(kBar)) line.remove_suffix(kBar.size());
  if (line.empty() || !may_begin(line)) return line;
  line.remove_prefix(stacked_prefixes().length_at_start(line.substr(0, kLongest)));
  return line;
}

}  // namespace flashfit::doctor::pasted
