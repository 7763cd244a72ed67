// The fuzz target without a fuzzer: replays inputs written as lines of hexadecimal digits ('#' opens a comment), then
// runs seeded mutations of them and random bytes. The same arguments run the same inputs, on any machine.
//   replay RUNS FILE...             fewer runs where CI tries a share (tests/share.hpp)
//   replay --write FOLDER FILE...   writes each line as a file, for libFuzzer
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "share.hpp"

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Input = std::vector<std::uint8_t>;

Input current;

/// Names the input that ended the process: async-signal-safe calls alone.
void name_input(int signal) {
  constexpr char kDigits[] = "0123456789abcdef";
  const auto say = [](const char* text, std::size_t size) {
    if (write(STDERR_FILENO, text, size) < 0) _exit(3);
  };
  say("input: ", 7);
  for (const std::uint8_t byte : current) {
    const char pair[] = {kDigits[byte >> 4], kDigits[byte & 15]};
    say(pair, sizeof pair);
  }
  say("\n", 1);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

std::vector<Input> read(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path + " cannot be read");
  std::vector<Input> inputs;
  for (std::string line; std::getline(file, line);) {
    line.resize(std::min(line.find('#'), line.size()));
    while (!line.empty() && line.back() == ' ') line.pop_back();
    if (line.empty()) continue;
    Input input;
    for (std::size_t i = 0; i + 1 < line.size(); i += 2)
      input.push_back(static_cast<std::uint8_t>(std::stoi(line.substr(i, 2), nullptr, 16)));
    inputs.push_back(std::move(input));
  }
  return inputs;
}

Input mutated(const std::vector<Input>& from, std::mt19937& random) {
  const auto below = [&](std::size_t n) { return n ? random() % n : 0; };
  Input input = from.empty() || below(8) == 0 ? Input(below(80)) : from[below(from.size())];
  if (from.empty() || below(8) == 0)
    for (std::uint8_t& byte : input) byte = static_cast<std::uint8_t>(random());
  for (std::size_t n = 1 + below(4); n > 0; --n) {
    const auto at = static_cast<std::ptrdiff_t>(below(input.size() + 1));
    switch (below(4)) {
      case 0:
        input.insert(input.begin() + at, static_cast<std::uint8_t>(random()));
        break;
      case 1:
        if (at < static_cast<std::ptrdiff_t>(input.size())) input.erase(input.begin() + at);
        break;
      case 2:
        input.resize(static_cast<std::size_t>(at));
        break;
      default:
        if (at < static_cast<std::ptrdiff_t>(input.size()))
          input[static_cast<std::size_t>(at)] = static_cast<std::uint8_t>(random());
    }
  }
  return input;
}

void run(Input input) {
  current = std::move(input);
  LLVMFuzzerTestOneInput(current.data(), current.size());
}

int replay(const std::vector<std::string>& words) {
  std::vector<Input> inputs;
  for (std::size_t i = words[0] == "--write" ? 2 : 1; i < words.size(); ++i)
    for (Input& input : read(words[i])) inputs.push_back(std::move(input));
  if (words[0] == "--write") {
    for (std::size_t i = 0; i < inputs.size(); ++i)
      std::ofstream(words[1] + "/" + std::to_string(i), std::ios::binary)
          .write(reinterpret_cast<const char*>(inputs[i].data()), static_cast<std::streamsize>(inputs[i].size()));
    return 0;
  }
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) std::signal(signal, name_input);
  LLVMFuzzerInitialize(nullptr, nullptr);
  for (const Input& input : inputs) run(input);
  std::mt19937 random(20250101);
  const int runs = std::stoi(words[0]) / static_cast<int>(flashfit::testing::test_share());
  for (int i = 0; i < runs; ++i) run(mutated(inputs, random));
  std::cout << inputs.size() << " inputs and " << runs << " mutations without a finding\n";
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty() || (words[0] == "--write" && words.size() < 2)) return 2;
  try {
    return replay(words);
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return 2;
  }
}
