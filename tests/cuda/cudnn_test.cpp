// SPDX-License-Identifier: GPL-3.0-or-later
// cuDNN is asked about GPUs that are not here: it checks support, code generation included, by their properties. It
// wants a driver library to be there for that; without a driver the toolkit's stub does.
#include "backends/cudnn/cudnn_compute.h"
#include "backends/cudnn/library.h"
#include "backends/cudnn/plan_cache.h"
#include "backends/cudnn/sdpa_plan.h"
#include "backends/simd/exact_kernel.h"
#include "cuda/host_device.h"

#include <dlfcn.h>

#include <QTest>
#include <fstream>

using namespace attn;
using namespace attn::cudnn;

namespace {

QString q(std::string_view text) { return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())); }

enum class DriverLibrary { real, stub, none };

DriverLibrary load_driver_library() {
  if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL) != nullptr) return DriverLibrary::real;
  const std::string stub = ATTN_CUDA_STUB;
  if (!stub.empty() && dlopen(stub.c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr) return DriverLibrary::stub;
  return DriverLibrary::none;
}

/// Public figures of the cards.
DeviceProperties properties(int capability) {
  DeviceProperties p;
  p.capability = capability;
  switch (capability) {
    case 80:
      p.name = "NVIDIA A100-SXM4-80GB";
      p.multiprocessors = 108;
      p.memory_bytes = std::int64_t{80} << 30;
      p.l2_bytes = std::int64_t{40} << 20;
      p.shared_memory_optin = 166912;
      p.clock_khz = 1410000;
      break;
    case 90:
      p.name = "NVIDIA H200";
      p.multiprocessors = 132;
      p.memory_bytes = std::int64_t{141} << 30;
      p.l2_bytes = std::int64_t{50} << 20;
      p.clock_khz = 1980000;
      break;
    case 100:
      p.name = "NVIDIA B200";
      p.multiprocessors = 148;
      p.memory_bytes = std::int64_t{180} << 30;
      p.l2_bytes = std::int64_t{126} << 20;
      p.clock_khz = 1965000;
      break;
    default:
      p.name = "NVIDIA GeForce RTX 5090";
      p.multiprocessors = 170;
      p.memory_bytes = std::int64_t{32} << 30;
      p.l2_bytes = std::int64_t{96} << 20;
      p.shared_memory_optin = 101376;
      p.threads_per_multiprocessor = 1536;
      p.blocks_per_multiprocessor = 24;
      p.clock_khz = 2407000;
      break;
  }
  return p;
}

Dims packed(const Dims& size) { return {size[1] * size[2] * size[3], size[2] * size[3], size[3], 1}; }
/// (batch, tokens, heads, dim) in memory, as a fused projection leaves it.
Dims transposed(const Dims& size) { return {size[1] * size[2] * size[3], size[3], size[1] * size[3], 1}; }

SdpaProblem problem(std::int64_t tokens = 4608, std::int64_t head_dim = 128) {
  SdpaProblem p;
  p.heads = p.kv_heads = 24;
  p.query_tokens = p.key_tokens = tokens;
  p.head_dim = p.value_dim = head_dim;
  return p;
}

SdpaProblem laid_out(SdpaProblem p, Dims (*lay)(const Dims&) = packed) {
  p.query_stride = lay({p.batch, p.heads, p.query_tokens, p.head_dim});
  p.key_stride = lay({p.batch, p.kv_heads, p.key_tokens, p.head_dim});
  p.value_stride = lay({p.batch, p.kv_heads, p.key_tokens, p.value_dim});
  p.output_stride = lay({p.batch, p.heads, p.query_tokens, p.value_dim});
  return p;
}

SdpaProblem changed(void (*change)(SdpaProblem&), Dims (*lay)(const Dims&) = packed) {
  SdpaProblem p = problem();
  change(p);
  return laid_out(p, lay);
}

SdpaProblem::Bias bias(const Dims& size, DType dtype) { return {dtype, size, packed(size)}; }

struct Asked {
  const char* name;
  SdpaProblem problem;
  const char* refused;  ///< a part of cuDNN's reason; empty: every architecture takes it
  int taken_by = 0;     ///< with `refused`: the one architecture that takes it all the same
};

std::vector<Asked> asked() {
  return {
      {"bf16", laid_out(problem()), ""},
      {"f16", changed([](SdpaProblem& p) { p.dtype = DType::float16; }), ""},
      {"transposed memory", changed([](SdpaProblem&) {}, transposed), ""},
      {"causal", changed([](SdpaProblem& p) { p.is_causal = true; }), ""},
      {"causal, unequal odd lengths", changed([](SdpaProblem& p) {
         p.query_tokens = 4603;
         p.key_tokens = 77;
         p.is_causal = true;
       }),
       ""},
      {"bias of every head, fp32", changed([](SdpaProblem& p) {
         p.bias = bias({1, 24, 4608, 4608}, DType::float32);
       }),
       ""},
      {"bias that broadcasts, bf16", changed([](SdpaProblem& p) {
         p.bias = bias({1, 1, 1, 4608}, DType::bfloat16);
       }),
       ""},
      {"bias and causal", changed([](SdpaProblem& p) {
         p.bias = bias({1, 1, 4608, 4608}, DType::float16);
         p.is_causal = true;
       }),
       ""},
      {"grouped heads", changed([](SdpaProblem& p) { p.kv_heads = 8; }), ""},
      {"one query", changed([](SdpaProblem& p) { p.query_tokens = 1; }), ""},
      {"two in a batch", changed([](SdpaProblem& p) { p.batch = 2; }), ""},
      {"head_dim 40", laid_out(problem(4608, 40)), ""},
      {"head_dim 64", laid_out(problem(4608, 64)), ""},
      {"head_dim 256", laid_out(problem(4608, 256)), ""},
      {"head_dim 192, values 128", changed([](SdpaProblem& p) { p.head_dim = 192; }), ""},
      {"video length", changed([](SdpaProblem& p) {
         p.heads = p.kv_heads = 56;
         p.query_tokens = p.key_tokens = 38222;
       }),
       ""},
      {"head_dim 36", laid_out(problem(4608, 36)), "Embedding dim per head for q and k is not a multiple of 8"},
      {"block mask", changed([](SdpaProblem& p) { p.block_mask = true; }), "Block mask is only supported on Blackwell",
       100},
      {"block mask, odd lengths", changed([](SdpaProblem& p) {
         p.query_tokens = p.key_tokens = 4603;
         p.block_mask = true;
       }),
       "Block mask is only supported on Blackwell", 100},
      {"fp32", changed([](SdpaProblem& p) { p.dtype = DType::float32; }),
       "takes float16 and bfloat16 only, the call has float32"},
      {"block mask with causal", changed([](SdpaProblem& p) { p.block_mask = p.is_causal = true; }),
       "takes a block mask without causal and bias only"},
  };
}

}  // namespace

class CudnnTest : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase() { driver_ = load_driver_library(); }

  void a_missing_library_is_said_with_its_name() {
    const auto opened = Library::open({"libcudnn-that-is-not-there.so.9", "/not/there/libcudnn.so.9"});
    QVERIFY(!opened.has_value());
    QCOMPARE(q(opened.error()), QString("cuDNN is not installed: libcudnn-that-is-not-there.so.9 was not found"));
  }

  void another_library_is_no_cudnn() {
    const auto opened = Library::open({"libm.so.6"});
    QVERIFY(!opened.has_value());
    QCOMPARE(q(opened.error()), QString("libm.so.6 is no cuDNN: it has no cudnnGetVersion"));
  }

  void a_file_that_is_no_library_is_said_with_the_loaders_words() {
    const QString path = QCoreApplication::applicationDirPath() + "/libcudnn-broken.so.9";
    std::ofstream(path.toStdString()) << "no library";
    const auto opened = Library::open({path.toStdString()});
    QVERIFY(QFile::remove(path));
    QVERIFY(!opened.has_value());
    QVERIFY2(q(opened.error()).startsWith("cuDNN cannot be opened: " + path), opened.error().c_str());
  }

  void the_first_reason_is_what_a_person_reads_data() {
    QTest::addColumn<QString>("record");
    QTest::addColumn<QString>("reason");
    QTest::newRow("a stack")
        << "{\"engineId\":2}\nWarning: CUDNN_STATUS_NOT_SUPPORTED_SHAPE; Reason: head dim is odd at: "
           "d % 2\nWarning: CUDNN_STATUS_NOT_SUPPORTED; Reason: another"
        << "head dim is odd";
    QTest::newRow("a condition alone") << "cudaGetDeviceCount(&count) != cudaSuccess"
                                       << "cudaGetDeviceCount(&count) != cudaSuccess";
    QTest::newRow("nothing") << ""
                             << "";
  }
  void the_first_reason_is_what_a_person_reads() {
    QFETCH(QString, record);
    QFETCH(QString, reason);
    QCOMPARE(q(first_reason(record.toStdString())), reason);
  }

  void answers_are_kept_by_shape_and_the_oldest_goes() {
    AnswerCache<int> cache(2);
    int made = 0;
    const auto make = [&made] { return ++made; };
    const SdpaProblem a = laid_out(problem(64));
    const SdpaProblem b = laid_out(problem(128));
    const SdpaProblem c = laid_out(problem(192));
    QCOMPARE(cache.get(a, make), 1);
    QCOMPARE(cache.get(b, make), 2);
    QCOMPARE(cache.get(a, make), 1);
    QCOMPARE(cache.get(c, make), 3);  // b was used longest ago
    QCOMPARE(cache.get(a, make), 1);
    QCOMPARE(cache.get(b, make), 4);
    QCOMPARE(cache.size(), std::size_t{2});
    SdpaProblem strided = a;
    strided.key_stride[2] += 8;
    QCOMPARE(cache.get(strided, make), 5);
  }

  void what_failed_for_the_moment_is_asked_again() {
    AnswerCache<int> cache(2, [](const int& answer) { return answer > 1; });
    int made = 0;
    const auto make = [&made] { return ++made; };
    const SdpaProblem a = laid_out(problem(64));
    QVERIFY(!cache.known(a));
    QCOMPARE(cache.get(a, make), 1);
    QVERIFY(!cache.known(a));
    QCOMPARE(cache.get(a, make), 2);
    QCOMPARE(cache.known(a), std::optional<int>(2));
    QCOMPARE(cache.get(a, make), 2);
  }

  void properties_are_json_that_holds_the_name_safely() {
    DeviceProperties p = properties(90);
    p.name = "a \"quoted\\ name\n";
    const std::string text = p.json();
    QVERIFY(text.starts_with('{') && text.ends_with("\"deviceName\":\"a quoted name\"}"));
    QVERIFY(text.find("\"deviceVer\":900,") != std::string::npos);
  }

  void cudnn_takes_what_it_should_and_says_why_not_data() {
    QTest::addColumn<int>("capability");
    QTest::addColumn<int>("at");
    const std::vector<Asked> all = asked();
    for (const int capability : {80, 90, 100, 120}) {
      for (std::size_t i = 0; i < all.size(); ++i) {
        QTest::addRow("sm_%d %s", capability, all[i].name) << capability << static_cast<int>(i);
      }
    }
  }
  void cudnn_takes_what_it_should_and_says_why_not() {
    const auto& library = this_machines_cudnn();
    if (!library) QSKIP(library.error().c_str());
    if (driver_ == DriverLibrary::none) QSKIP("no driver library and no stub of it: cuDNN generates no code then");
    QFETCH(int, capability);
    QFETCH(int, at);
    const Asked wanted = asked()[static_cast<std::size_t>(at)];
    const auto support = ask_support(**library, wanted.problem, properties(capability));
    QVERIFY2(support.has_value(), support ? "" : support.error().c_str());
    const bool takes = *wanted.refused == '\0' || wanted.taken_by == capability;
    QVERIFY2((support->viable > 0) == takes, support->reason.c_str());
    if (!takes) QVERIFY2(q(support->reason).contains(wanted.refused), support->reason.c_str());
  }

  void a_plan_is_built_up_to_the_point_where_a_driver_loads_it_data() {
    QTest::addColumn<int>("capability");
    for (const int capability : {80, 90, 100, 120}) QTest::addRow("sm_%d", capability) << capability;
  }
  void a_plan_is_built_up_to_the_point_where_a_driver_loads_it() {
    const auto& library = this_machines_cudnn();
    if (!library) QSKIP(library.error().c_str());
    if (driver_ != DriverLibrary::stub) QSKIP("asked with the toolkit's stub of the driver library only");
    QFETCH(int, capability);
    const auto plan = SdpaPlan::build(*library, laid_out(problem()), properties(capability));
    QVERIFY(!plan.has_value());
    // 34: CUDA_ERROR_STUB_LIBRARY. Everything before, the kernel's compilation too, went well.
    QCOMPARE(q(plan.error().reason),
             QString("cudnnBackendFinalize of the attention plan: EXECUTION_FAILED_CUDA_DRIVER, "
                     "cuLibraryLoadData returned error  (34)"));
    QVERIFY(plan.error().passing);  // the driver's failure, not the problem's
  }

  void explain_waits_for_no_library_and_knows_what_was_asked() {
    const auto& library = this_machines_cudnn();
    if (!library) QSKIP(library.error().c_str());
    if (driver_ == DriverLibrary::none) QSKIP("no driver library and no stub of it: cuDNN generates no code then");
    const std::shared_ptr<const cuda::DeviceCompute> compute = cudnn_compute(library, properties(90));
    AttentionCall call;
    call.query = call.key = call.value = TensorView::contiguous({1, 2, 128, 36}, DType::bfloat16);
    test::HostGpu host;
    const cuda::DeviceKernel kernel(std::make_shared<ExactKernel>("flash", "flash", false), host.gpu, {compute},
                                    cuda::OnFailure::decline);
    QVERIFY(!compute->known_refusal(call, nullptr));
    QVERIFY(kernel.forecast(call, nullptr).choices.at(0).ok);
    QCOMPARE(q(kernel.forecast(call, nullptr).choices.at(0).actual), QString("is asked by the first such call"));
    kernel.ask(call, nullptr);
    const std::string refusal = compute->known_refusal(call, nullptr).value_or("");
    QVERIFY(!refusal.empty());
    QCOMPARE(compute->refusal(call, nullptr), refusal);
    QCOMPARE(q(kernel.forecast(call, nullptr).choices.at(0).reason), q(refusal));
    call.query.dtype = call.key.dtype = call.value.dtype = DType::float32;  // known without asking
    QVERIFY(compute->known_refusal(call, nullptr).value_or("").starts_with("takes float16 and bfloat16 only"));
  }

  void a_plan_that_cudnn_refuses_fails_with_its_reason() {
    const auto& library = this_machines_cudnn();
    if (!library) QSKIP(library.error().c_str());
    if (driver_ == DriverLibrary::none) QSKIP("no driver library and no stub of it: cuDNN generates no code then");
    const auto plan = SdpaPlan::build(*library, laid_out(problem(4608, 36)), properties(90));
    QVERIFY(!plan.has_value());
    QCOMPARE(q(plan.error().reason),
             QString("cuDNN does not take this call: Embedding dim per head for q and k is not a "
                     "multiple of 8"));
    QVERIFY(!plan.error().passing);
  }

 private:
  DriverLibrary driver_ = DriverLibrary::none;
};

QTEST_GUILESS_MAIN(CudnnTest)
#include "cudnn_test.moc"
