// The command `flashfit`.
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <system_error>
#include <vector>

#include "cli/command.hpp"
#include "cli/options.hpp"

namespace flashfit::cli {
namespace {

/// Of all that are in this build, in the order of --help: "explain, images or gpus".
std::string names_of_commands(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands(nullptr)) names.push_back(command->get_name());
  const std::string last = names.back();
  names.pop_back();
  return fmt::format("{} or {}", fmt::join(names, ", "), last);
}

/// Refuses an empty value, which is what a shell makes of "$VARIABLE" where that is not set: taken for an option that
/// was not given, it would have another environment or driver judged than the one meant. --error has words of its own
/// for it.
void refuse_empty_values(CLI::App& command) {
  for (CLI::Option* const option : command.get_options())
    if (option->nonpositional() && option->get_items_expected_min() > 0 && !option->check_lname("error"))
      option->check([](const std::string& value) { return value.empty() ? "is empty; a value is needed" : ""; });
  for (CLI::App* const below : command.get_subcommands(nullptr)) refuse_empty_values(*below);
}

/// Refuses a value of an option that has none, such as `--causal=maybe`; CLI11 takes true and false.
void refuse_values_of_flags(CLI::App& command) {
  for (CLI::Option* const option : command.get_options())
    if (option->get_items_expected_max() == 0)
      option->check([name = option->get_name()](const std::string& value) {
        if (value != "true" && value != "false") wrong(name, value, "takes no value");
        return "";
      });
  for (CLI::App* const below : command.get_subcommands(nullptr)) refuse_values_of_flags(*below);
}

/// Refuses options of a command before a word of its own, such as `explain --gpu L4 moe.experts`: that has options of
/// its own, and would leave these out.
void refuse_options_before_words(CLI::App& command) {
  for (CLI::App* const word : command.get_subcommands(nullptr))
    word->preparse_callback([&command, word](std::size_t) {
      for (const CLI::Option* const option : command.get_options())
        if (option->count() > 0 && !option->check_lname("help"))
          throw CLI::ValidationError(fmt::format("{}: goes behind {}", option->get_name(), word->get_name()));
    });
}

int run(int argc, char** argv) {
  CLI::App app("flashfit: fused attention and mixture of experts that fit the GPU that is there.", "flashfit");
  app.set_version_flag("--version", "flashfit " FLASHFIT_VERSION_TEXT);
  app.footer("\nExample:\n  flashfit explain --gpu L4 --dtype fp16 --head-dim 64 --seqlen 512 --heads 8 --batch 2");
  app.require_subcommand(0, 1);
  int status = kUsage;
  add_explain(app, status);
  add_images(app, status);
  add_gpus(app, status);
  add_doctor(app, status);
  add_choose(app, status);
  add_bench(app, status);
  add_compare(app, status);
  add_report(app, status);
#ifdef FLASHFIT_EMULATES
  add_emulate(app, status);
#endif
  refuse_empty_values(app);
  refuse_values_of_flags(app);
  const auto help = [&app] {
    return fmt::format("flashfit {}--help",
                       app.get_subcommands().empty() ? "" : app.get_subcommands().front()->get_name() + " ");
  };
  for (CLI::App* const command : app.get_subcommands(nullptr)) refuse_options_before_words(*command);
  try {
    app.parse(argc, argv);
    if (app.get_subcommands().empty())
      fmt::print(stderr, "flashfit: a command is needed: {}; see flashfit --help\n", names_of_commands(app));
  } catch (const CLI::Success& help_or_version) {
    return app.exit(help_or_version);
  } catch (const CLI::ExtrasError&) {
    fmt::print(stderr, "flashfit: '{}' is not known here; see {}\n", app.remaining(true).front(), help());
    return kUsage;
  } catch (const CLI::RequiredError& error) {
    fmt::print(stderr, "flashfit: {}; see {}\n", error.what(), help());
    return kUsage;
  } catch (const CLI::ParseError& error) {
    std::string line = error.what();
    std::replace(line.begin(), line.end(), '\n', ' ');
    fmt::print(stderr, "flashfit: {}\n", line);
    return kUsage;
  }
  return status;
}

}  // namespace
}  // namespace flashfit::cli

int main(int argc, char** argv) {
  try {
    const int status = flashfit::cli::run(argc, argv);
    if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return status;
    std::perror("flashfit: standard output");
  } catch (const std::system_error& error) {  // what fmt throws of a long text names no file
    std::fprintf(stderr, "flashfit: %s\n",
                 std::ferror(stdout) ? ("standard output: " + error.code().message()).c_str() : error.what());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "flashfit: %s\n", error.what());
  }
  return flashfit::cli::kFailed;
}
