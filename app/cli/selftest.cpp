// SPDX-License-Identifier: GPL-3.0-or-later
// attnctl selftest: whether the GPU kernels are right, and how fast they are.
#include "app/jobs/selftest/selftest.h"
#include "app/cli/commands.h"

#include <cstdio>
#include <iostream>
#include <memory>
#include <string>

namespace attn::cli {
namespace {

struct SelftestCommand {
  std::string device = "cuda";
  bool checks_only = false;
  bool json = false;
};

Json row_json(const app::SelftestRow& row, bool timed) {
  Json json{{"kernel", row.kernel},
            {"call", row.call},
            {"state", std::string(name_of(row.state))},
            {"reason", row.reason.empty() ? Json(nullptr) : Json(row.reason)}};
  if (timed) {
    json["milliseconds"] = row.milliseconds;
    json["tflops"] = row.tflops;
    json["gigabytes_per_second"] = row.gigabytes;
  } else {
    json["error"] = row.error;
    json["bound"] = row.bound;
  }
  return json;
}

Json rows_json(const std::vector<app::SelftestRow>& rows, bool timed) {
  Json list = Json::array();
  for (const app::SelftestRow& row : rows) list.push_back(row_json(row, timed));
  return list;
}

std::string with_decimals(double value, int decimals) {
  char text[48];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

void print_report(const app::SelftestReport& report) {
  using State = app::SelftestRow::State;
  std::cout << "device  " << report.device << "\nmachine " << report.driver << "\n\n";
  std::vector<std::vector<std::string>> rows;
  for (const app::SelftestRow& row : report.checks) {
    const bool ran = row.state == State::ok || row.state == State::wrong;
    rows.push_back({row.kernel, row.call, std::string(name_of(row.state)), ran ? number_text(row.error) : "",
                    ran ? number_text(row.bound) : "", row.reason});
  }
  print_table({"kernel", "call", "state", "error", "at most", ""}, rows, {3, 4});
  if (!report.times.empty()) {
    rows.clear();
    for (const app::SelftestRow& row : report.times) {
      const bool ran = row.state == State::ok;
      rows.push_back({row.call, row.kernel, std::string(name_of(row.state)),
                      ran ? with_decimals(row.milliseconds, 3) : "", ran ? with_decimals(row.tflops, 1) : "",
                      ran ? with_decimals(row.gigabytes, 1) : "", row.reason});
    }
    std::cout << "\n";
    print_table({"shape", "kernel", "state", "ms", "TFLOP/s", "GB/s", ""}, rows, {3, 4, 5});
  }
  std::cout << "\n" << (report.passed() ? "passed" : "not passed") << "\n";
}

/// "cuda", "cuda:1" or "host".
bool read_device(const std::string& text, app::SelftestDevice& device, int& index) {
  device = text == "host" ? app::SelftestDevice::host : app::SelftestDevice::cuda;
  if (text == "host" || text == "cuda") return true;
  if (!text.starts_with("cuda:") || text.size() != 6 || text[5] < '0' || text[5] > '9') return false;
  index = text[5] - '0';
  return true;
}

int run(const SelftestCommand& options) {
  app::SelftestDevice device = app::SelftestDevice::cuda;
  int index = 0;
  if (!read_device(options.device, device, index)) {
    return say(Exit::wrong, "there is no device \"" + options.device + "\" to test; there are cuda, cuda:1 and host");
  }
  const auto report = app::run_selftest({device, index, !options.checks_only, {}});
  if (!report) return say(Exit::failed, report.error());
  if (options.json) {
    print(Json{{"device", report->device},
               {"machine", report->driver},
               {"passed", report->passed()},
               {"checks", rows_json(report->checks, false)},
               {"times", rows_json(report->times, true)}});
  } else {
    print_report(*report);
  }
  return report->passed() ? Exit::done : Exit::failed;
}

}  // namespace

void add_selftest(CLI::App& program, Command& command) {
  CLI::App* sub = program.add_subcommand("selftest", "Whether the GPU kernels are right on this machine, and how fast");
  auto options = std::make_shared<SelftestCommand>();
  sub->add_option("--device", options->device, "cuda, cuda:1, or host: the kernels' source block by block")
      ->type_name("DEVICE");
  sub->add_flag("--checks-only", options->checks_only,
                "No times: for a run under compute-sanitizer, which slows everything down");
  sub->add_flag("--json", options->json, "Answer in JSON on stdout");
  sub->callback([options, &command] { command = [options] { return run(*options); }; });
}

}  // namespace attn::cli
