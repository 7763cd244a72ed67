#pragma once
// A process keeps the driver that it opened: a case that needs another one,
// or one that nobody has opened, runs in a process of its own.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

namespace fake_cuda {

/// Runs `body` in a fresh process with LD_LIBRARY_PATH at a folder of the fakes ("whole", "lacking", "old", "damaged";
/// "": not set) and expects that the line it returns matches `regex`.
inline void expect_fresh(const std::string& folder, const std::function<std::string()>& body,
                         const std::string& regex) {
  const char* set = std::getenv("LD_LIBRARY_PATH");  // not set in a fresh process that runs without it
  const std::string before = set ? set : "";
  if (folder.empty())
    unsetenv("LD_LIBRARY_PATH");
  else
    setenv("LD_LIBRARY_PATH", (before.substr(0, before.rfind('/') + 1) + folder).c_str(), 1);
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT((std::fprintf(stderr, "%s\n", body().c_str()), std::exit(0)), testing::ExitedWithCode(0), regex);
  if (set) setenv("LD_LIBRARY_PATH", before.c_str(), 1);
}

}  // namespace fake_cuda
