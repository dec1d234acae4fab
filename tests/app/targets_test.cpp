// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/targets/targets.h"

#include "app/jobs/resources.h"
#include "app/jobs/targets/description.h"
#include "support/oracle.h"

#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <filesystem>

using namespace attn;
using namespace attn::app;
using attn::test::q;

namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

QString error_of(const Expected<Target>& result) { return result ? QString("no error") : q(result.error()); }

/// A list with one target, into which a test puts one fault.
nlohmann::json one_target() {
  return {{"format", "attnscope-targets"},
          {"version", 1},
          {"sources", {{"maker", "https://example.org"}}},
          {"targets",
           {{{"name", "card"},
             {"label", "A card"},
             {"platform", "cuda"},
             {"capability", 86},
             {"memory_gib", 24},
             {"sources", {{"capability", "maker"}, {"memory", "maker"}}}}}}};
}

}  // namespace

class TargetsTest : public QObject {
  Q_OBJECT

 private slots:
  void cleanup() { qunsetenv("ATTNSCOPE_RESOURCES"); }

  void the_list_starts_with_this_processor_and_its_gpus_and_only_they_are_present() {
    const auto targets = load_targets();
    QVERIFY2(targets.has_value(), targets ? "" : targets.error().c_str());
    QCOMPARE(q(targets->front().name), QString("cpu"));
    QVERIFY(targets->front().present && targets->front().is_cpu());
    QVERIFY(!targets->front().label.empty());
    QVERIFY(targets->front().memory_bytes.value_or(0) > 0);
    const std::size_t gpus = gpu_targets(cuda::this_machine()).size();
    QCOMPARE(targets->size(), std::size_t{31} + gpus);
    QCOMPARE(static_cast<std::size_t>(std::ranges::count_if(*targets, &Target::present)), 1 + gpus);
  }

  void this_machines_gpus_are_targets() {
    cuda::Discovery machine;
    machine.state = cuda::CudaState::ready;
    machine.sentence = "NVIDIA H200 (compute capability 9.0), NVIDIA driver 580.65.06, CUDA 13.0";
    cuda::CudaDevice old;
    old.name = "Tesla T4";
    old.capability = 75;
    cuda::CudaDevice card;
    card.index = 1;
    card.name = "NVIDIA H200";
    card.capability = 90;
    card.memory_bytes = 141 * kGiB;
    card.supported = true;
    machine.devices = {old, card};
    const std::vector<Target> targets = gpu_targets(machine);
    QCOMPARE(targets.size(), std::size_t{1});
    QCOMPARE(q(targets[0].name), QString("cuda:1"));
    QCOMPARE(q(targets[0].label), QString("NVIDIA H200"));
    QCOMPARE(q(targets[0].platform), QString("cuda"));
    QCOMPARE(targets[0].capability.value_or(0), 90);
    QCOMPARE(targets[0].memory_bytes.value_or(0), 141 * kGiB);
    QCOMPARE(targets[0].device.value_or(-1), 1);
    QVERIFY(targets[0].present && targets[0].absence.empty());
    const auto card_from_the_list = find_target("rtx-5090");
    QCOMPARE(q(absence_of(*card_from_the_list, machine)), "this machine has " + q(machine.sentence));
    machine.state = cuda::CudaState::driver_missing;
    QVERIFY(gpu_targets(machine).empty());
  }

  void an_emulated_nvidia_card_says_why_it_is_not_used() {
    for (const char* text : {"rtx-5090", "platform=cuda,sm=86"}) {
      const auto target = find_target(text);
      QVERIFY2(target.has_value(), text);
      QCOMPARE(q(target->absence), q(absence_of(*target, cuda::this_machine())));
      QVERIFY(q(target->absence).contains(q(cuda::this_machine().sentence)));
    }
    QVERIFY(find_target("mi300x")->absence.empty());
    QVERIFY(find_target("cpu")->absence.empty());
  }

  void a_gpu_that_is_not_there_is_no_target() {
    const auto target = find_target("cuda:9");
    QVERIFY(!target.has_value());
    QCOMPARE(q(target.error()), "there is no target \"cuda:9\" here: " + q(cuda::this_machine().sentence));
  }

  void cards_have_the_makers_figures_data() {
    QTest::addColumn<QString>("name");
    QTest::addColumn<QString>("platform");
    QTest::addColumn<int>("capability");
    QTest::addColumn<QString>("gfx");
    QTest::addColumn<int>("gib");
    QTest::newRow("T4") << "t4"
                        << "cuda" << 75 << "" << 16;
    QTest::newRow("V100") << "v100"
                          << "cuda" << 70 << "" << 32;
    QTest::newRow("RTX 3090") << "rtx-3090"
                              << "cuda" << 86 << "" << 24;
    QTest::newRow("A100") << "a100-80"
                          << "cuda" << 80 << "" << 80;
    QTest::newRow("RTX 4090") << "rtx-4090"
                              << "cuda" << 89 << "" << 24;
    QTest::newRow("L40S") << "l40s"
                          << "cuda" << 89 << "" << 48;
    QTest::newRow("H100") << "h100"
                          << "cuda" << 90 << "" << 80;
    QTest::newRow("H200") << "h200"
                          << "cuda" << 90 << "" << 141;
    QTest::newRow("B200") << "b200"
                          << "cuda" << 100 << "" << 180;
    QTest::newRow("RTX 5090") << "rtx-5090"
                              << "cuda" << 120 << "" << 32;
    QTest::newRow("MI300X") << "mi300x"
                            << "rocm" << 0 << "gfx942" << 192;
    QTest::newRow("RX 7900 XTX") << "rx-7900-xtx"
                                 << "rocm" << 0 << "gfx1100" << 24;
    QTest::newRow("RX 9070 XT") << "rx-9070-xt"
                                << "rocm" << 0 << "gfx1201" << 16;
    QTest::newRow("ZLUDA") << "rx-7900-xtx-zluda"
                           << "zluda" << 88 << "gfx1100" << 24;
    QTest::newRow("Arc") << "arc-a770"
                         << "ipex" << 0 << "" << 16;
    QTest::newRow("Apple") << "apple-m1"
                           << "mps" << 0 << "" << 16;
  }
  void cards_have_the_makers_figures() {
    QFETCH(QString, name);
    QFETCH(QString, platform);
    QFETCH(int, capability);
    QFETCH(QString, gfx);
    QFETCH(int, gib);
    const auto target = find_target(name.toStdString());
    QVERIFY2(target.has_value(), qPrintable(error_of(target)));
    QCOMPARE(q(target->platform), platform);
    QCOMPARE(target->capability.value_or(0), capability);
    QCOMPARE(q(target->gfx), gfx);
    QCOMPARE(target->memory_bytes.value_or(0), gib * kGiB);
    QVERIFY(!target->present);
  }

  void names_are_found_as_people_write_them() {
    for (const char* text : {"rtx-3090", "RTX-3090", "rtx 3090", "RTX3090", "NVIDIA RTX 3090"}) {
      const auto target = find_target(text);
      QVERIFY2(target.has_value(), text);
      QCOMPARE(q(target->name), QString("rtx-3090"));
    }
  }

  void a_name_that_is_none_gets_the_nearest() {
    const QString error = error_of(find_target("rtx-309"));
    QVERIFY2(error.contains("\"rtx-309\"") && error.contains("rtx-3090"), qPrintable(error));
    QVERIFY(error_of(find_target("")).contains("there is no target"));
  }

  void descriptions_are_read_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("platform");
    QTest::addColumn<int>("capability");
    QTest::addColumn<QString>("gfx");
    QTest::addColumn<qint64>("memory");
    QTest::newRow("all") << "platform=cuda,sm=86,memory=24GiB"
                         << "cuda" << 86 << "" << qint64{24 * kGiB};
    QTest::newRow("dotted") << "platform=cuda,capability=8.6"
                            << "cuda" << 86 << "" << qint64{-1};
    QTest::newRow("sm_120") << " platform = cuda , sm = sm_120 "
                            << "cuda" << 120 << "" << qint64{-1};
    QTest::newRow("unknown") << "platform=cuda,sm=unknown,memory=unknown"
                             << "cuda" << -1 << "" << qint64{-1};
    QTest::newRow("gfx") << "platform=rocm,gfx=GFX90A,memory=64GB"
                         << "rocm" << -1 << "gfx90a" << qint64{64'000'000'000};
    QTest::newRow("zluda") << "platform=zluda,sm=88,gfx=gfx1100"
                           << "zluda" << 88 << "gfx1100" << qint64{-1};
    QTest::newRow("fraction") << "platform=mps,memory=1.5 TiB"
                              << "mps" << -1 << "" << qint64{1536 * kGiB};
    QTest::newRow("alone") << "platform=ipex"
                           << "ipex" << -1 << "" << qint64{-1};
  }
  void descriptions_are_read() {
    QFETCH(QString, text);
    QFETCH(QString, platform);
    QFETCH(int, capability);
    QFETCH(QString, gfx);
    QFETCH(qint64, memory);
    const auto target = find_target(text.toStdString());
    QVERIFY2(target.has_value(), qPrintable(error_of(target)));
    QCOMPARE(q(target->platform), platform);
    QCOMPARE(target->capability.value_or(-1), capability);
    QCOMPARE(q(target->gfx), gfx);
    QCOMPARE(qint64{target->memory_bytes.value_or(-1)}, memory);
    QVERIFY(!target->label.empty() && !target->name.empty());
    QVERIFY(!target->present);
  }

  void a_description_may_name_itself_and_may_be_this_processor() {
    const auto named = find_target("platform=cuda,name=lab box");
    QVERIFY(named.has_value());
    QCOMPARE(q(named->name), QString("lab box"));
    const auto processor = find_target("platform=cpu,memory=8GiB");
    QVERIFY(processor.has_value() && processor->present);
  }

  void wrong_descriptions_say_what_would_be_right_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("says");
    QTest::newRow("no platform") << "sm=86"
                                 << "needs a platform";
    QTest::newRow("platform") << "platform=CUDA"
                              << "there is no platform \"CUDA\"; it is one of cuda";
    QTest::newRow("sm word") << "platform=cuda,sm=ada"
                             << "sm=ada is no compute capability";
    QTest::newRow("sm short") << "platform=cuda,sm=9"
                              << "sm=9 is no compute capability";
    QTest::newRow("sm zero") << "platform=cuda,sm=00"
                             << "sm=00 is no compute capability";
    QTest::newRow("sm negative") << "platform=cuda,sm=-86"
                                 << "sm=-86 is no compute capability";
    QTest::newRow("sm long minor") << "platform=cuda,sm=8.66"
                                   << "sm=8.66 is no compute capability";
    QTest::newRow("gfx") << "platform=rocm,gfx=rdna3"
                         << "gfx=rdna3 is no AMD architecture";
    QTest::newRow("no unit") << "platform=cuda,memory=24"
                             << "memory=24 is no amount of memory";
    QTest::newRow("zero") << "platform=cuda,memory=0GiB"
                          << "memory=0GiB is no amount of memory";
    QTest::newRow("negative") << "platform=cuda,memory=-1GiB"
                              << "memory=-1GiB is no amount of memory";
    QTest::newRow("huge") << "platform=cuda,memory=1e30GiB"
                          << "is no amount of memory";
    QTest::newRow("nan") << "platform=cuda,memory=nanGiB"
                         << "memory=nanGiB is no amount of memory";
    QTest::newRow("key") << "platform=cuda,vram=24GiB"
                         << "there is no key \"vram\"; the keys are platform, sm";
    QTest::newRow("twice") << "platform=cuda,sm=86,capability=89"
                           << "\"sm\" is given twice";
    QTest::newRow("no value") << "platform=cuda,sm="
                              << "\"sm=\" is no key=value pair";
    QTest::newRow("empty pair") << "platform=cuda,,"
                                << "is no key=value pair";
    QTest::newRow("sm on rocm") << "platform=rocm,sm=86"
                                << "sm belongs to cuda and zluda, not to rocm";
    QTest::newRow("gfx on cuda") << "platform=cuda,gfx=gfx1100"
                                 << "gfx belongs to rocm and zluda, not to cuda";
  }
  void wrong_descriptions_say_what_would_be_right() {
    QFETCH(QString, text);
    QFETCH(QString, says);
    const QString error = error_of(find_target(text.toStdString()));
    QVERIFY2(error.contains(says), qPrintable(error));
    QVERIFY(!error.contains('\n'));
  }

  void a_list_with_a_fault_is_refused_by_target_and_field_data() {
    QTest::addColumn<QString>("pointer");
    QTest::addColumn<QString>("value");
    QTest::addColumn<QString>("says");
    QTest::newRow("format") << "/format"
                            << "\"x\""
                            << "is not a target list";
    QTest::newRow("version") << "/version"
                             << "2"
                             << "is not a target list";
    QTest::newRow("targets") << "/targets"
                             << "{}"
                             << "\"targets\" must be a list";
    QTest::newRow("entry") << "/targets/0"
                           << "3"
                           << "target number 1: it is not an object";
    QTest::newRow("label") << "/targets/0/label"
                           << "5"
                           << "target card: \"label\" is missing or not a string";
    QTest::newRow("cpu") << "/targets/0/name"
                         << "\"cpu\""
                         << "which means this machine";
    QTest::newRow("platform") << "/targets/0/platform"
                              << "\"gpu\""
                              << "there is no platform \"gpu\"";
    QTest::newRow("capability") << "/targets/0/capability"
                                << "8.6"
                                << "\"capability\" is a whole number";
    QTest::newRow("memory") << "/targets/0/memory_gib"
                            << "-1"
                            << "\"memory_gib\" is a positive number";
    QTest::newRow("source") << "/targets/0/sources/memory"
                            << "\"hearsay\""
                            << "\"memory_gib\" has no source";
    QTest::newRow("no sources") << "/targets/0/sources"
                                << "[]"
                                << "\"capability\" has no source";
  }
  void a_list_with_a_fault_is_refused_by_target_and_field() {
    QFETCH(QString, pointer);
    QFETCH(QString, value);
    QFETCH(QString, says);
    nlohmann::json list = one_target();
    QVERIFY(parse_targets(list.dump(), "list.json").has_value());
    list[nlohmann::json::json_pointer(pointer.toStdString())] = nlohmann::json::parse(value.toStdString());
    const auto targets = parse_targets(list.dump(), "list.json");
    QVERIFY(!targets.has_value());
    QVERIFY2(q(targets.error()).startsWith("list.json") && q(targets.error()).contains(says), targets.error().c_str());
  }

  void a_name_given_twice_and_text_that_is_no_json_are_refused() {
    nlohmann::json list = one_target();
    list["targets"].push_back(list["targets"][0]);
    QVERIFY(q(parse_targets(list.dump(), "list.json").error()).contains("given twice"));
    QCOMPARE(q(parse_targets("{", "list.json").error()), QString("list.json is not JSON"));
  }

  void the_processors_name_is_read_from_cpuinfo() {
    QCOMPARE(q(processor_name("processor\t: 0\nmodel name\t: Ryzen 9\nmodel name\t: other\n")), QString("Ryzen 9"));
    QCOMPARE(q(processor_name("model name :")), QString());
    QCOMPARE(q(processor_name("processor : 0\nFeatures : fp\n")), QString());
  }

  void memory_is_written_as_people_read_it() {
    QCOMPARE(q(memory_text(24 * kGiB)), QString("24 GiB"));
    QCOMPARE(q(memory_text(kGiB * 31 / 2)), QString("15.5 GiB"));
    QCOMPARE(q(memory_text(kGiB / 2)), QString("512 MiB"));
  }

  void resources_come_from_the_environment_first_then_from_the_source_tree() {
    QCOMPARE(q(resource_path("targets/targets.json").string()), QString(ATTN_SOURCE "/resources/targets/targets.json"));
    const QTemporaryDir folder;
    qputenv("ATTNSCOPE_RESOURCES", folder.path().toUtf8());
    QCOMPARE(q(resource_path("targets/x").string()), folder.path() + "/targets/x");
    const auto targets = load_targets();
    QVERIFY(!targets.has_value());
    QVERIFY2(q(targets.error()).contains("cannot read the target list"), targets.error().c_str());
    std::filesystem::create_directories(folder.path().toStdString() + "/targets/targets.json");
    QVERIFY(q(load_targets().error()).contains("cannot read the target list"));
  }
};

QTEST_GUILESS_MAIN(TargetsTest)
#include "targets_test.moc"
