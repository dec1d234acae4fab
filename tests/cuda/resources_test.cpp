// SPDX-License-Identifier: GPL-3.0-or-later
// Registers and spills of every kernel, as the compiler reported them beside its objects, against the stated limits.
#include "backends/cuda/kernels/resource_limits.h"

#include <cxxabi.h>
#include <QTest>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace attn::test {
namespace {

/// What ptxas says of one kernel for one architecture.
struct Report {
  std::string kernel;  ///< behind run_kernel<attn::cuda::
  std::string architecture;
  int registers = -1;
  int spilled = -1;  ///< bytes
  int stack = -1;    ///< bytes: an array that is indexed at run time lies there
};

std::string plain_name(const std::string& mangled) {
  int status = 0;
  char* text = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
  const std::string name = status == 0 ? text : mangled;
  std::free(text);
  const std::string before = "run_kernel<attn::cuda::";
  const std::size_t at = name.find(before);
  return at == std::string::npos ? name : name.substr(at + before.size());
}

std::vector<Report> reports_in(std::istream& stream) {
  static const std::regex kEntry("Compiling entry function '([^']+)' for '([^']+)'");
  static const std::regex kSpills("(\\d+) bytes stack frame, (\\d+) bytes spill stores, (\\d+) bytes spill loads");
  static const std::regex kRegisters("Used (\\d+) registers");
  std::vector<Report> reports;
  for (std::string line; std::getline(stream, line);) {
    std::smatch match;
    if (std::regex_search(line, match, kEntry)) reports.push_back({plain_name(match[1]), match[2]});
    if (reports.empty()) continue;
    if (std::regex_search(line, match, kSpills)) {
      reports.back().stack = std::stoi(match[1]);
      reports.back().spilled = std::stoi(match[2]) + std::stoi(match[3]);
    }
    if (std::regex_search(line, match, kRegisters)) reports.back().registers = std::stoi(match[1]);
  }
  return reports;
}

const cuda::ResourceLimit* limit_of(const std::string& kernel) {
  for (const cuda::ResourceLimit& limit : cuda::kResourceLimits) {
    if (std::string_view(kernel).substr(0, limit.kernel.size()) == limit.kernel) return &limit;
  }
  return nullptr;
}

/// What is wrong with a report; empty when nothing is.
std::string fault_of(const Report& report) {
  const std::string who = report.kernel + " for " + report.architecture;
  const cuda::ResourceLimit* limit = limit_of(report.kernel);
  if (limit == nullptr) return who + " has no stated limit";
  if (report.registers < 0 || report.spilled < 0) return who + " is reported without registers or spills";
  if (report.spilled > 0) return who + " spills " + std::to_string(report.spilled) + " bytes";
  if (report.stack > 0) return who + " has " + std::to_string(report.stack) + " bytes of arrays outside registers";
  if (report.registers <= limit->registers) return {};
  return who + " takes " + std::to_string(report.registers) + " registers, the limit is " +
         std::to_string(limit->registers);
}

}  // namespace

class CudaResourcesTest : public QObject {
  Q_OBJECT

 private slots:
  void a_report_is_read_and_judged() {
    const std::string text =
        "ptxas info    : Compiling entry function "
        "'_ZN4attn4cuda10run_kernelINS0_10PackKernelILi64EEEEEvNT_6ParamsE' for 'sm_80'\n"
        "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
        "ptxas info    : Used 30 registers, used 0 barriers\n";
    std::istringstream stream(text);
    std::vector<Report> reports = reports_in(stream);
    QCOMPARE(reports.size(), std::size_t{1});
    QCOMPARE(reports[0].registers, 30);
    QCOMPARE(QString::fromStdString(reports[0].architecture), QString("sm_80"));
    QCOMPARE(QString::fromStdString(fault_of(reports[0])), QString());
    reports[0].registers = 49;
    QVERIFY(fault_of(reports[0]).find("takes 49 registers, the limit is 48") != std::string::npos);
    reports[0].spilled = 8;
    QVERIFY(fault_of(reports[0]).find("spills 8 bytes") != std::string::npos);
    reports[0].spilled = 0;
    reports[0].stack = 16;
    QVERIFY(fault_of(reports[0]).find("has 16 bytes of arrays outside registers") != std::string::npos);
    QVERIFY(fault_of({"Unknown", "sm_80", 1, 0, 0}).find("has no stated limit") != std::string::npos);
  }

  void every_kernel_keeps_to_its_limit() {
    const std::string folder = ATTN_CUDA_OBJECTS;
    if (folder.empty()) QSKIP("this build has no CUDA toolkit, so that no kernel was compiled");
    std::set<std::string> met;
    int count = 0;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.path().extension() != ".ptxas") continue;
      std::ifstream stream(entry.path());
      for (const Report& report : reports_in(stream)) {
        const std::string fault = fault_of(report);
        QVERIFY2(fault.empty(), fault.c_str());
        met.insert(std::string(limit_of(report.kernel)->kernel));
        ++count;
      }
    }
    QVERIFY2(count > 0, "the build kept no report of ptxas");
    for (const cuda::ResourceLimit& limit : cuda::kResourceLimits) {
      const std::string none = std::string(limit.kernel) + " has a limit, and no kernel of that name was compiled";
      QVERIFY2(met.count(std::string(limit.kernel)) == 1, none.c_str());
    }
  }
};

}  // namespace attn::test

QTEST_GUILESS_MAIN(attn::test::CudaResourcesTest)
#include "resources_test.moc"
