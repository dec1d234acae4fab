// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cuda/runtime/discovery.h"

#include <QTest>

using namespace attn::cuda;

namespace {

const Toolkit kToolkit{13000, {80, 90, 100, 120}};

DriverFacts working(std::vector<DriverFacts::Device> devices = {}) {
  DriverFacts facts;
  facts.library_found = true;
  facts.kernel_module = "580.65.06";
  facts.version = 13000;
  facts.devices = std::move(devices);
  return facts;
}

DriverFacts::Device card(const char* name, int major, int minor) {
  return {0, name, major, minor, std::int64_t{141} << 30, 132, "0000:18:00.0"};
}

DriverFacts with(DriverFacts facts, void (*change)(DriverFacts&)) {
  change(facts);
  return facts;
}

struct Case {
  const char* name;
  std::optional<Toolkit> toolkit;
  DriverFacts facts;
  CudaState state;
  const char* sentence;
};

std::vector<Case> cases() {
  const DriverFacts hopper = working({card("NVIDIA H200", 9, 0)});
  DriverFacts none;
  none.load_error = "libcuda.so.1: cannot open shared object file: No such file or directory";
  return {
      {"not built", std::nullopt, none, CudaState::not_built, "this program was built without the CUDA toolkit"},
      {"not built, with a card", std::nullopt, hopper, CudaState::not_built,
       "this program was built without the CUDA toolkit, so it cannot use NVIDIA H200 (compute capability 9.0)"},
      {"no driver", kToolkit, none, CudaState::driver_missing,
       "no NVIDIA driver on this machine: libcuda.so.1 was not found"},
      {"module without library", kToolkit, with(none, [](DriverFacts& f) { f.kernel_module = "570.1"; }),
       CudaState::driver_missing,
       "no NVIDIA driver on this machine: libcuda.so.1 was not found; its kernel module 570.1 is loaded, its library "
       "is "
       "not"},
      {"broken library", kToolkit,
       with(none,
            [](DriverFacts& f) {
              f.load_error = "libcuda.so.1: invalid ELF header";
              f.library_found = true;
            }),
       CudaState::driver_failed, "the NVIDIA driver library cannot be opened: libcuda.so.1: invalid ELF header"},
      {"library without a function", kToolkit,
       with(working(), [](DriverFacts& f) { f.missing_function = "cuDeviceGetPCIBusId"; }), CudaState::driver_failed,
       "the NVIDIA driver library has no cuDeviceGetPCIBusId"},
      {"old driver", kToolkit,
       with(hopper,
            [](DriverFacts& f) {
              f.kernel_module = "470.82";
              f.version = 11040;
            }),
       CudaState::driver_too_old, "NVIDIA driver 470.82 supports CUDA 11.4, this program needs 13.0 or newer"},
      {"old driver that does not say", kToolkit,
       with(working(),
            [](DriverFacts& f) {
              f.init_code = 35;
              f.version = 0;
            }),
       CudaState::driver_too_old, "NVIDIA driver 580.65.06 is too old, this program needs 13.0 or newer"},
      {"a newer toolkit of the same major version", Toolkit{13020, {80, 90}}, hopper, CudaState::ready,
       "NVIDIA H200 (compute capability 9.0), NVIDIA driver 580.65.06, CUDA 13.0"},
      {"stub", kToolkit, with(working(), [](DriverFacts& f) { f.init_code = 34; }), CudaState::driver_failed,
       "the libcuda.so.1 that was found is the toolkit's stub, not a driver; take its folder out of LD_LIBRARY_PATH"},
      {"mismatch", kToolkit, with(working(), [](DriverFacts& f) { f.init_code = 803; }), CudaState::driver_failed,
       "the NVIDIA kernel module 580.65.06 and the driver library are of different versions, as after an update: "
       "restart the machine"},
      {"fabric", kToolkit, with(working(), [](DriverFacts& f) { f.init_code = 802; }), CudaState::driver_failed,
       "NVIDIA driver 580.65.06 is not ready: machines with NVSwitch need the fabric manager of the driver's version "
       "running"},
      {"compatibility library", kToolkit, with(working(), [](DriverFacts& f) { f.init_code = 804; }),
       CudaState::driver_failed,
       "the CUDA compatibility library that was found does not work with this GPU; take it out of LD_LIBRARY_PATH"},
      {"unknown", kToolkit, with(working(), [](DriverFacts& f) { f.init_code = 999; }), CudaState::driver_failed,
       "NVIDIA driver 580.65.06 could not start (CUDA_ERROR_UNKNOWN): `nvidia-smi` and the kernel's log say more"},
      {"another code", kToolkit, with(working(), [](DriverFacts& f) { f.init_code = 3; }), CudaState::driver_failed,
       "NVIDIA driver 580.65.06 could not start: cuInit returned 3"},
      {"no count", kToolkit, with(working(), [](DriverFacts& f) { f.count_code = 4; }), CudaState::driver_failed,
       "NVIDIA driver 580.65.06 could not count its GPUs: code 4"},
      {"no device", kToolkit, with(working(), [](DriverFacts& f) { f.init_code = 100; }), CudaState::no_device,
       "NVIDIA driver 580.65.06 shows no GPU: none is there, none may be used from here, or MIG is on without an "
       "instance"},
      {"none counted", kToolkit, working(), CudaState::no_device,
       "NVIDIA driver 580.65.06 shows no GPU: none is there, none may be used from here, or MIG is on without an "
       "instance"},
      {"hidden by an empty list", kToolkit,
       with(working(),
            [](DriverFacts& f) {
              f.init_code = 100;
              f.visible_devices = "";
            }),
       CudaState::no_device, "CUDA_VISIBLE_DEVICES is empty, which hides every GPU; unset it"},
      {"hidden by -1", kToolkit, with(working(), [](DriverFacts& f) { f.visible_devices = "-1"; }),
       CudaState::no_device, "CUDA_VISIBLE_DEVICES is -1, which hides every GPU; unset it"},
      {"hidden by a number", kToolkit, with(working(), [](DriverFacts& f) { f.visible_devices = "7"; }),
       CudaState::no_device, "CUDA_VISIBLE_DEVICES=7 leaves no GPU of this machine; unset it, or name one"},
      {"too old a card", kToolkit, working({card("NVIDIA GeForce GTX 1080", 6, 1)}),
       CudaState::unsupported_architecture,
       "NVIDIA GeForce GTX 1080 (compute capability 6.1) is not served: this program has kernels for 8.0, 9.0, 10.0 "
       "and "
       "12.0, and for what is newer than the last"},
      {"between the architectures", kToolkit, working({card("NVIDIA Thor", 11, 0), card("Tesla T4", 7, 5)}),
       CudaState::unsupported_architecture,
       "NVIDIA Thor (compute capability 11.0) and Tesla T4 (compute capability 7.5) are not served: this program has "
       "kernels for 8.0, 9.0, 10.0 and 12.0, and for what is newer than the last"},
      {"ready", kToolkit, hopper, CudaState::ready,
       "NVIDIA H200 (compute capability 9.0), NVIDIA driver 580.65.06, CUDA 13.0"},
      {"ready by PTX", kToolkit, working({card("NVIDIA Next", 13, 0)}), CudaState::ready,
       "NVIDIA Next (compute capability 13.0), NVIDIA driver 580.65.06, CUDA 13.0"},
      {"newer than the last, and a driver older than the toolkit", Toolkit{13020, {80, 90}},
       working({card("NVIDIA Next", 13, 0)}), CudaState::unsupported_architecture,
       "NVIDIA Next (compute capability 13.0) is not served: this program has kernels for 8.0 and 9.0, and for what is "
       "newer than the last with a driver for CUDA 13.2 or newer"},
      {"a MIG instance", kToolkit, working({card("NVIDIA H200 MIG 1g.18gb", 9, 0)}), CudaState::ready,
       "NVIDIA H200 MIG 1g.18gb (compute capability 9.0, a MIG instance), NVIDIA driver 580.65.06, CUDA 13.0"},
      {"one that does not answer", kToolkit, with(hopper, [](DriverFacts& f) { f.devices.front().code = 46; }),
       CudaState::driver_failed, "NVIDIA driver 580.65.06 does not answer for its GPU: code 46"},
  };
}

}  // namespace

class DiscoveryTest : public QObject {
  Q_OBJECT

 private slots:
  void every_state_has_its_own_sentence_data() {
    QTest::addColumn<int>("at");
    const std::vector<Case> all = cases();
    for (std::size_t i = 0; i < all.size(); ++i) QTest::newRow(all[i].name) << static_cast<int>(i);
  }
  void every_state_has_its_own_sentence() {
    QFETCH(int, at);
    const Case wanted = cases()[static_cast<std::size_t>(at)];
    const Discovery found = discover(wanted.toolkit, wanted.facts);
    QCOMPARE(QString::fromStdString(found.sentence), QString(wanted.sentence));
    QCOMPARE(found.state, wanted.state);
  }

  void a_gpu_is_described_and_a_mixed_machine_keeps_what_it_cannot_use_apart() {
    DriverFacts facts = working({card("Tesla T4", 7, 5), card("NVIDIA H200", 9, 0)});
    const Discovery found = discover(kToolkit, facts);
    QCOMPARE(found.state, CudaState::ready);
    QCOMPARE(found.devices.size(), std::size_t{2});
    QVERIFY(!found.devices[0].supported && found.devices[1].supported);
    QCOMPARE(found.devices[1].index, 1);
    QCOMPARE(found.devices[1].capability, 90);
    QCOMPARE(found.devices[1].multiprocessors, 132);
    QCOMPARE(found.devices[1].memory_bytes, std::int64_t{141} << 30);
    QCOMPARE(QString::fromStdString(found.devices[1].pci), QString("0000:18:00.0"));
  }

  void minor_versions_are_served_by_older_code_of_their_major_version_data() {
    QTest::addColumn<int>("capability");
    QTest::addColumn<bool>("served");
    for (const auto& [capability, served] : std::initializer_list<std::pair<int, bool>>{
             {75, false}, {80, true}, {86, true}, {89, true}, {90, true}, {103, true}, {110, false}, {121, true}}) {
      QTest::addRow("sm_%d", capability) << capability << served;
    }
  }
  void minor_versions_are_served_by_older_code_of_their_major_version() {
    QFETCH(int, capability);
    QFETCH(bool, served);
    const Discovery found = discover(kToolkit, working({card("A card", capability / 10, capability % 10)}));
    QCOMPARE(found.devices.front().supported, served);
  }

  void a_library_that_is_not_there_is_a_fact_and_no_crash() {
    const DriverFacts facts = read_driver_facts("libcuda-that-is-not-there.so.1");
    QVERIFY(!facts.load_error.empty());
    QVERIFY(!facts.library_found);
    QCOMPARE(discover(kToolkit, facts).state, CudaState::driver_missing);
  }

  void a_library_of_something_else_lacks_the_functions() {
    const DriverFacts facts = read_driver_facts("libm.so.6");
    QCOMPARE(QString::fromStdString(facts.missing_function), QString("cuInit"));
    QCOMPARE(discover(kToolkit, facts).state, CudaState::driver_failed);
  }

  void this_machine_is_looked_at_once_and_says_something() {
    const Discovery& first = this_machine();
    QVERIFY(!first.sentence.empty());
    QVERIFY(!name_of(first.state).empty());
    QCOMPARE(&this_machine(), &first);
    QCOMPARE(first.state == CudaState::not_built, !built_toolkit().has_value());
  }
};

QTEST_GUILESS_MAIN(DiscoveryTest)
#include "discovery_test.moc"
