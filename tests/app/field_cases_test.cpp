// SPDX-License-Identifier: GPL-3.0-or-later
// Faults that people met in the field, reduced to the smallest input, and the exact answers of six tiny calls.
#include "app/jobs/compare/compare.h"
#include "app/jobs/targets/targets.h"
#include "app/jobs/tensors/findings.h"
#include "app/jobs/tensors/generated.h"
#include "backends/all.h"
#include "core/call/call_text.h"
#include "core/settings/settings.h"
#include "support/faulty_kernels.h"
#include "support/kernels.h"
#include "support/oracle.h"
#include "trace/event/route_event.h"

#include <QtTest>
#include <cmath>
#include <functional>

using namespace attn;
using attn::test::AssumesContiguity;
using attn::test::IgnoresMasks;
using attn::test::q;
using attn::test::ZeroesLaterBatches;

namespace {

std::unique_ptr<Engine> engine_for(OptionList overrides, std::string_view target = "platform=cuda,sm=86") {
  auto engine = std::make_unique<Engine>(make_registry(), *app::find_target(target));
  if (!engine->set(keys::overrides, std::move(overrides))) qFatal("overrides");
  return engine;
}

Explanation explained(Engine& engine, std::string_view text) {
  const auto written = parse_call(text);
  if (!written) qFatal("%s", written.error().c_str());
  return engine.explain(written->call, written->role, written->step);
}

const BackendVerdict& entry_of(const Explanation& explanation, std::string_view backend) {
  for (const BackendVerdict& entry : explanation.entries) {
    if (entry.backend == backend) return entry;
  }
  qFatal("no such backend");
}

std::string reasons_of(const BackendVerdict& entry) {
  std::string all;
  for (const Verdict& check : entry.checks) all += check.ok ? "" : check.reason + "; ";
  return all;
}

/// A call with tensors of its own, all zero, and what came out of an engine.
struct SmallCall {
  SmallCall(std::string_view text) : tensors(app::generate(parse_call(text)->call, 0)) {
    for (HostBuffer* buffer : {&tensors.query, &tensors.key, &tensors.value})
      std::memset(buffer->data(), 0, buffer->size());
  }
  /// The element at (b, h, token, channel) of a view.
  static std::int64_t at(const TensorView& view, std::int64_t b, std::int64_t h, std::int64_t t, std::int64_t d) {
    return b * view.stride[0] + h * view.stride[1] + t * view.stride[2] + d * view.stride[3];
  }
  void set(const TensorView& view, std::int64_t b, std::int64_t h, std::int64_t t, float value) {
    store_element(view, at(view, b, h, t, 0), value);
  }
  /// v[b, h, j] = value(h, j) in the first channel.
  SmallCall& values(const std::function<double(std::int64_t h, std::int64_t j)>& value) {
    const TensorView& v = tensors.call.value;
    for (std::int64_t b = 0; b < v.size(0); ++b) {
      for (std::int64_t h = 0; h < v.size(1); ++h) {
        for (std::int64_t j = 0; j < v.size(2); ++j) set(v, b, h, j, static_cast<float>(value(h, j)));
      }
    }
    return *this;
  }
  SmallCall& mask(const std::vector<float>& elements) {
    for (std::size_t i = 0; i < elements.size(); ++i) {
      store_element(*tensors.call.attn_mask, static_cast<std::int64_t>(i), elements[i]);
    }
    return *this;
  }
  [[nodiscard]] double out(std::int64_t b, std::int64_t h, std::int64_t t) const {
    return static_cast<double>(load_element(tensors.call.output, at(tensors.call.output, b, h, t, 0)));
  }

  /// Who served; empty on failure.
  std::string run(Engine& engine) {
    Pipe pipe{{"test", std::nullopt, std::nullopt, std::nullopt}, {}};
    auto scope = engine.begin_job(pipe, 1, nullptr, false);
    const attn::Route route = scope->attention(tensors.call);
    return route.failure.empty() ? std::string(route.executed) : std::string();
  }

  app::CallTensors tensors;
};

/// Nobody, then every override alone, then all of them.
std::vector<OptionList> chains() {
  const Registry registry = make_registry();
  std::vector<OptionList> all{{}};
  for (const std::string& label : registry.labels()) all.push_back({label});
  all.push_back(registry.labels());
  return all;
}

/// Chains on a platform where every backend is available, in the dtypes that all or some of them take.
void for_every_chain(std::string_view text, const std::function<void(SmallCall&)>& fill,
                     const std::function<void(const SmallCall&, double tolerance)>& check) {
  for (const std::string_view dtype : {"fp32", "fp16", "bf16"}) {
    for (const OptionList& overrides : chains()) {
      for (const std::string_view target : {"platform=cuda,sm=86", "platform=rocm,gfx=gfx1100"}) {
        const auto engine = engine_for(overrides, target);
        SmallCall call(std::string(text) + " " + std::string(dtype));
        fill(call);
        QVERIFY2(!call.run(*engine).empty(), engine->plan()->chain().c_str());
        // 8-bit values keep one part in 127; bf16 results one in 256 of up to 8.
        check(call, dtype == "fp32" && overrides.empty() ? 1e-6 : 0.04);
        if (QTest::currentTestFailed()) {
          qWarning("chain %s, %s, %s", engine->plan()->chain().c_str(), std::string(dtype).c_str(),
                   std::string(target).c_str());
          return;
        }
      }
    }
  }
}

#define NEAR(actual, expected, tolerance)                  \
  QVERIFY2(std::abs((actual) - (expected)) <= (tolerance), \
           qPrintable(QString("%1 instead of %2").arg(double(actual)).arg(double(expected))))

/// The real backends with a faulty one on top.
template <class Kernel>
std::unique_ptr<Engine> engine_with_stub() {
  Registry registry = make_registry();
  BackendSpec spec;
  spec.name = "stub";
  spec.label = "Stub attention";
  spec.priority = 90;
  spec.help = "A kernel with a fault, for tests.";
  spec.prepare = [](const PrepareContext&) -> Expected<PreparedBackend> {
    return PreparedBackend{std::make_shared<Kernel>(), std::nullopt, {}};
  };
  if (!registry.add(std::move(spec))) qFatal("stub");
  auto engine = std::make_unique<Engine>(std::move(registry), *app::find_target("platform=cuda,sm=86"));
  if (!engine->set(keys::overrides, OptionList{"Stub attention"})) qFatal("overrides");
  return engine;
}

std::string state_reason(const Engine& engine) {
  for (const BackendReport& report : engine.plan()->reports()) {
    if (report.name == "stub") return report.reason;
  }
  return {};
}

void fill_o3(SmallCall& call) {
  call.values([](std::int64_t, std::int64_t j) { return static_cast<double>(j); });
  call.mask({1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1});
}
constexpr std::string_view kO3 = "q[2,1,1,64] k[2,1,8,64] mask=bool[2,1,1,8]";

}  // namespace

class FieldCasesTest : public QObject {
  Q_OBJECT

 private slots:
  // --- exact answers ------------------------------------------------------------------------------------------

  void o1_causal_is_aligned_top_left_whoever_serves() {
    for_every_chain(
        "q[1,1,2,64] k[1,1,5,64] causal",
        [](SmallCall& call) { call.values([](auto, auto j) { return static_cast<double>(j + 1); }); },
        [](const SmallCall& call, double tolerance) {
          NEAR(call.out(0, 0, 0), 1.0, tolerance);
          NEAR(call.out(0, 0, 1), 1.5, tolerance);
        });
  }

  void o1b_bottom_right_is_what_its_mask_says() {
    for_every_chain(
        "q[1,1,2,64] k[1,1,5,64] mask=bool[2,5]",
        [](SmallCall& call) {
          call.values([](auto, auto j) { return static_cast<double>(j + 1); });
          call.mask({1, 1, 1, 1, 0, 1, 1, 1, 1, 1});
        },
        [](const SmallCall& call, double tolerance) {
          NEAR(call.out(0, 0, 0), 2.5, tolerance);
          NEAR(call.out(0, 0, 1), 3.0, tolerance);
        });
  }

  void o2_a_fully_masked_row_is_zero() {
    for_every_chain(
        "q[1,1,2,64] k[1,1,4,64] mask=bool[2,4]",
        [](SmallCall& call) {
          call.values([](auto, auto j) { return static_cast<double>(j + 1); });
          call.mask({0, 0, 0, 0, 1, 1, 1, 1});
        },
        [](const SmallCall& call, double tolerance) {
          NEAR(call.out(0, 0, 0), 0.0, 0.0);
          NEAR(call.out(0, 0, 1), 2.5, tolerance);
          QCOMPARE(app::count_values(call.tensors.call.output).nan, std::int64_t{0});
          QVERIFY(q(app::findings_of(call.tensors.call).at(0)).startsWith("1 fully masked row"));
        });
  }

  void o3_each_batch_element_has_its_own_mask() {
    for_every_chain(kO3, fill_o3, [](const SmallCall& call, double tolerance) {
      NEAR(call.out(0, 0, 0), 1.5, tolerance);
      NEAR(call.out(1, 0, 0), 5.5, tolerance);
    });
  }

  void o4_grouped_heads_follow_one_another() {
    for_every_chain(
        "q[1,4,4,64] k[1,2,4,64] gqa",
        [](SmallCall& call) { call.values([](auto h, auto) { return static_cast<double>(h + 1); }); },
        [](const SmallCall& call, double tolerance) {
          for (const auto& [head, value] : {std::pair{0, 1.0}, {1, 1.0}, {2, 2.0}, {3, 2.0}}) {
            NEAR(call.out(0, head, 0), value, tolerance);
          }
        });
  }

  void o5_heads_and_tokens_are_not_swapped() {
    for (const char* strides : {"", " strides=transposed"}) {
      for_every_chain(
          std::string("q[1,4,4,64]") + strides,
          [](SmallCall& call) { call.values([](auto h, auto j) { return static_cast<double>(10 * h + j); }); },
          [](const SmallCall& call, double tolerance) {
            for (int h = 0; h < 4; ++h) {
              for (int t = 0; t < 4; ++t) NEAR(call.out(0, h, t), 10.0 * h + 1.5, tolerance * 8.0);
            }
          });
    }
  }

  void o6_the_given_scale_is_used() {
    for_every_chain(
        "q[1,1,1,64] k[1,1,2,64] scale=1",
        [](SmallCall& call) {
          call.set(call.tensors.call.query, 0, 0, 0, 1.0F);
          call.set(call.tensors.call.key, 0, 0, 0, std::log(3.0F));
          call.values([](auto, auto j) { return static_cast<double>(j); });
        },
        [](const SmallCall& call, double tolerance) { NEAR(call.out(0, 0, 0), 0.25, tolerance); });
    // As written in the reference: head_dim 4, where ignoring the scale would give 0.3660.
    SmallCall four("q[1,1,1,4] k[1,1,2,4] scale=1 fp32");
    four.set(four.tensors.call.query, 0, 0, 0, 1.0F);
    four.set(four.tensors.call.key, 0, 0, 0, std::log(3.0F));
    four.values([](auto, auto j) { return static_cast<double>(j); });
    QVERIFY(!four.run(*engine_for({})).empty());
    NEAR(four.out(0, 0, 0), 0.25, 1e-6);
  }

  // --- cases --------------------------------------------------------------------------------------------------

  void case_05_a_head_dim_that_sage_has_not_is_declined_with_its_reason() {
    const auto engine = engine_for({"Sage attention"});
    QCOMPARE(q(engine->plan()->chain()), QString("sage>sdpa"));
    for (const char* head_dim : {"40", "80", "160"}) {
      const Explanation e = explained(*engine, std::string("q[2,8,64,") + head_dim + "] fp16");
      QCOMPARE(q(e.requested), QString("sage"));
      QCOMPARE(q(e.selected), QString("sdpa"));
      QVERIFY(!entry_of(e, "sage").accepts);
      QCOMPARE(q(entry_of(e, "sage").reason), QString("head_dim %1 not in {64,96,128}").arg(head_dim));
    }
    QCOMPARE(q(explained(*engine, "q[2,8,64,64] fp16").selected), QString("sage"));
  }

  void case_07_a_kernel_that_ignores_masks_is_barred_from_masked_calls() {
    const auto engine = engine_with_stub<IgnoresMasks>();
    QVERIFY2(q(state_reason(*engine)).contains("mask ignored: output equals unmasked"), state_reason(*engine).c_str());
    SmallCall call(std::string(kO3) + " fp32");
    fill_o3(call);
    QCOMPARE(q(call.run(*engine)), QString("sdpa"));
    NEAR(call.out(0, 0, 0), 1.5, 1e-6);
    NEAR(call.out(1, 0, 0), 5.5, 1e-6);
    QCOMPARE(q(SmallCall("q[1,8,10,64]").run(*engine)), QString("stub"));
    // The reported input: every key hidden.
    SmallCall hidden("q[1,8,10,64] mask=bool[1,1,10,10]");
    hidden.values([](auto, auto) { return 3.0; }).mask(std::vector<float>(100, 0.0F));
    QCOMPARE(q(hidden.run(*engine)), QString("sdpa"));
    NEAR(hidden.out(0, 7, 9), 0.0, 0.0);
  }

  void case_09_flash_declines_unequal_lengths_under_causal() {
    const auto engine = engine_for({"Flash attention"});
    const Explanation unequal = explained(*engine, "q[1,8,2,64] k[1,8,5,64] causal");
    QCOMPARE(q(entry_of(unequal, "flash").reason), QString("bottom-right causal, Sq != Sk"));
    QCOMPARE(q(unequal.selected), QString("sdpa"));
    QVERIFY(!unequal.warnings.empty());
    QCOMPARE(q(explained(*engine, "q[1,8,5,64] k[1,8,5,64] causal").selected), QString("flash"));
  }

  void case_11_grouped_heads_with_a_mask_forecast_both_ways() {
    const auto engine = engine_for({});
    const Explanation e = explained(*engine, "q[1,32,27000,128] k[1,8,27000,128] mask=float gqa role=te");
    QCOMPARE(q(e.kernel), QString("math"));
    QCOMPARE(e.memory_bytes, std::int64_t{32} * 27000 * 27000 * 4);
    const QString warnings = q([&] {
      std::string all;
      for (const std::string& warning : e.warnings) all += warning + "\n";
      return all;
    }());
    QVERIFY2(warnings.contains("gqa+mask: math path, score matrix 93.3 GB (32*27000^2*4 bytes)"), qPrintable(warnings));
    QVERIFY2(warnings.contains("expand k/v: +0.33 GB net"), qPrintable(warnings));
  }

  void case_13_a_float_mask_is_a_bias_and_one_of_zeros_and_ones_is_suspect() {
    for_every_chain(
        "q[1,1,2,64] k[1,1,4,64] mask=float[2,4]",
        [](SmallCall& call) {
          call.values([](auto, auto j) { return static_cast<double>(j + 1); });
          call.mask({0, 0, 0, 0, 1, 1, 1, 1});
        },
        [](const SmallCall& call, double tolerance) {
          NEAR(call.out(0, 0, 0), 2.5, tolerance);
          NEAR(call.out(0, 0, 1), 2.5, tolerance);
          QVERIFY(q(app::findings_of(call.tensors.call).at(0)).contains("float mask of only 0/1: did you mean bool?"));
        });
  }

  void case_35_a_result_that_depends_on_the_layout_is_found_out() {
    const std::string plain = "q[1,16,62,128]";
    const std::string view = plain + " v_strides=[126976,128,2048,1]";
    const auto engine = engine_with_stub<AssumesContiguity>();
    QVERIFY2(q(state_reason(*engine)).contains("layout-dependent result"), state_reason(*engine).c_str());
    QCOMPARE(q(explained(*engine, plain).selected), QString("stub"));
    QCOMPARE(q(explained(*engine, view).selected), QString("sdpa"));
    // What would have come out of it: the same values in two layouts.
    app::CallTensors strided = app::generate(parse_call(view)->call, 1);
    app::CallTensors contiguous = app::contiguous_copy(strided);
    const AssumesContiguity stub;
    QVERIFY(stub.run(strided.call, nullptr).failure.empty());
    QVERIFY(stub.run(contiguous.call, nullptr).failure.empty());
    std::vector<app::OutputError> batch;
    QVERIFY(app::output_error(contiguous.call.output, strided.call.output, batch).max_abs > 0.1);
    // The real chains give the same from both.
    const auto schedule = app::make_schedule(*parse_call(view));
    const auto a = engine_for({});
    const auto b = engine_for({"Sage attention"});
    const auto result = app::compare_chains(schedule, *a, *b, {});
    QVERIFY2(result.has_value(), result ? "" : result.error().c_str());
    QVERIFY2(result->rows[0].notes.empty(), result->rows[0].notes.empty() ? "" : result->rows[0].notes[0].c_str());
  }

  void case_35_the_traced_record_shows_the_strides_of_every_tensor() {
    class Recorder final : public RouteObserver {
     public:
      void observe(const RouteRecord& record) noexcept override { event = trace::make_event(record); }
      trace::RouteEvent event;
    };
    const auto engine = engine_for({});
    Recorder recorder;
    Pipe pipe;
    auto scope = engine->begin_job(pipe, 1, &recorder, false);
    scope->attention(parse_call("q[1,16,62,128] v_strides=[126976,128,2048,1]")->call);
    QVERIFY(recorder.event.query_layout == Layout::contiguous && recorder.event.key_layout == Layout::contiguous);
    QVERIFY(recorder.event.value_layout == Layout::transposed);
  }

  void case_37_a_wrong_later_batch_element_is_named() {
    const auto engine = engine_with_stub<ZeroesLaterBatches>();
    QCOMPARE(q(state_reason(*engine)), QString("batch element 1 wrong"));
    SmallCall right(std::string(kO3) + " fp32");
    SmallCall wrong(std::string(kO3) + " fp32");
    fill_o3(right);
    fill_o3(wrong);
    QCOMPARE(q(right.run(*engine)), QString("sdpa"));
    QVERIFY(ZeroesLaterBatches().run(wrong.tensors.call, nullptr).failure.empty());
    std::vector<app::OutputError> batch;
    (void)app::output_error(right.tensors.call.output, wrong.tensors.call.output, batch);
    QCOMPARE(batch.size(), std::size_t{2});
    NEAR(batch[0].max_abs, 0.0, 0.0);
    NEAR(batch[1].max_abs, 5.5, 1e-6);
    QCOMPARE(app::batch_verdicts(batch), (std::vector<std::string>{"batch element 1 wrong"}));
    // The mask geometry of the report does not fit its call; both sizes are named.
    const auto text = parse_call("q[2,1,2,16] causal mask=bool[1,1,128,256]");
    QVERIFY(!text.has_value());
    QVERIFY2(q(text.error()).contains("[1, 1, 128, 256]") && q(text.error()).contains("2x2"), text.error().c_str());
  }

  void case_39_mixed_dtypes_are_declined_by_name() {
    const auto engine = engine_for({"Flash attention"});
    const Explanation e = explained(*engine, "q[1,30,1024,64] q=fp32 k=fp32 v=bf16");
    QCOMPARE(q(e.selected), QString("sdpa"));
    QVERIFY2(q(reasons_of(entry_of(e, "flash"))).contains("mixed dtype q=fp32 v=bf16"),
             reasons_of(entry_of(e, "flash")).c_str());
    SmallCall call("q[1,3,64,64] q=fp32 k=fp32 v=bf16");
    call.values([](auto, auto) { return 2.0; });
    QVERIFY(!call.run(*engine).empty());
    QVERIFY(call.tensors.call.output.dtype == DType::float32);
    NEAR(call.out(0, 2, 63), 2.0, 1e-3);
  }

  void case_41_offsets_beyond_32_bits_are_declined() {
    const auto engine = engine_for({"Sage attention"});
    const auto accepted = [&](const std::string& text) {
      const Explanation e = explained(*engine, text);
      const BackendVerdict& sage = entry_of(e, "sage");
      if (!sage.accepts && !q(sage.reason).startsWith("32-bit offset reach")) qWarning("%s", sage.reason.c_str());
      return sage.accepts;
    };
    const auto fused = [](const char* tokens) { return "q[1,56," + std::string(tokens) + ",128] strides=qkv"; };
    QVERIFY(accepted(fused("99865")));
    QVERIFY(!accepted(fused("99866")));
    QVERIFY(q(entry_of(explained(*engine, fused("99866")), "sage").reason).startsWith("32-bit offset reach"));
    QVERIFY(accepted("q[1,56,99866,128]"));
    QVERIFY(accepted("q[1,56,299593,128]"));
    QVERIFY(!accepted("q[1,56,299594,128]"));
  }

  // --- compare ------------------------------------------------------------------------------------------------

  void compare_gives_error_time_and_moved_routes() {
    auto schedule = app::make_schedule(*parse_call("q[2,4,128,64] fp16"));
    const auto a = engine_for({});
    const auto b = engine_for({"Sage attention"});
    const auto result = app::compare_chains(schedule, *a, *b, {});
    QVERIFY2(result.has_value(), result ? "" : result.error().c_str());
    QCOMPARE(q(result->chain_a), QString("sdpa"));
    QCOMPARE(q(result->chain_b), QString("sage>sdpa"));
    const app::CompareRow& row = result->rows.at(0);
    QVERIFY(row.moved && row.computed);
    QCOMPARE(q(row.b.backend), QString("sage"));
    QVERIFY2(row.error.relative_l1 > 0.0 && row.error.relative_l1 < 0.1,
             qPrintable(QString::number(row.error.relative_l1)));
    QVERIFY(row.error.cosine > 0.99);
    QCOMPARE(row.batch.size(), std::size_t{2});
    QVERIFY(row.a.seconds > 0.0 && row.b.seconds > 0.0);
    QCOMPARE(row.b.nan + row.b.inf, std::int64_t{0});
    const auto same = app::compare_chains(schedule, *a, *engine_for({}), {});
    QCOMPARE(same->rows.at(0).error.max_abs, 0.0);
    QVERIFY(!same->rows.at(0).moved);
  }

  void compare_counts_what_is_not_a_number() {
    HostTensor a({1, 1, 2, 2}, DType::float32);
    HostTensor b({1, 1, 2, 2}, DType::float32);
    for (int i = 0; i < 4; ++i) a.as<float>()[i] = b.as<float>()[i] = 1.0F;
    b.as<float>()[3] = std::nanf("");
    std::vector<app::OutputError> batch;
    const app::OutputError error = app::output_error(a.view(), b.view(), batch);
    QVERIFY(std::isnan(error.max_abs) && std::isnan(error.relative_l1));
    QCOMPARE(app::count_values(b.view()).nan, std::int64_t{1});
  }

  void constant_keys_give_the_mean_of_the_values() {
    // Field case 03: a blank prompt has equal keys everywhere; smoothing subtracts them all to nothing.
    const auto engine = engine_for({"Sage attention"});
    SmallCall call("q[2,10,1024,64] k[2,10,77,64] fp16");
    app::CallTensors random = app::generate(call.tensors.call, 2);
    std::memcpy(call.tensors.query.data(), random.query.data(), random.query.size());
    std::memcpy(call.tensors.value.data(), random.value.data(), random.value.size());
    for (std::size_t i = 0; i < call.tensors.key.size() / 2; ++i)
      call.tensors.key.as<std::uint16_t>()[i] = 0x3E00;  // 1.5
    QCOMPARE(q(call.run(*engine)), QString("sage"));
    QCOMPARE(app::count_values(call.tensors.call.output).nan, std::int64_t{0});
    double mean = 0.0;
    const TensorView& v = call.tensors.call.value;
    for (std::int64_t j = 0; j < 77; ++j)
      mean += static_cast<double>(load_element(v, SmallCall::at(v, 1, 9, j, 0))) / 77.0;
    NEAR(call.out(1, 9, 1023), mean, 2e-2);
  }
};

QTEST_GUILESS_MAIN(FieldCasesTest)
#include "field_cases_test.moc"
