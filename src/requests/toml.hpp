#pragma once
// toml++ without exceptions: one place that says how it is compiled.
#ifndef TOML_EXCEPTIONS
#define TOML_EXCEPTIONS 0
#endif
#include <toml++/toml.h>
