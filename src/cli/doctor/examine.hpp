#pragma once
// Every kind of target to one report: files and folders, lists of requests, archives of container images.
#include "cli/doctor/options.hpp"
#include "cli/doctor/report.hpp"
#include "doctor/requests/fetch.hpp"

namespace flashfit::cli {

/// Adds a report for each target to `report`, whose question is set: files and folders first, as they may mend one
/// another, then lists, then images. `fetcher` is null where nothing is to be fetched.
void examine_targets(const DoctorOptions& options, doctor::requests::Fetcher* fetcher, DoctorReport& report);

}  // namespace flashfit::cli
