// SPDX-License-Identifier: GPL-3.0-or-later
#include "attention_case.h"

#include <QTest>

namespace attn::test {

class SdpaTest : public QObject {
  Q_OBJECT

 private slots:
  void the_variant_follows_flags_platform_and_call_data();
  void the_variant_follows_flags_platform_and_call();
  void run_and_route_agree_for_every_set_of_flags();
  void older_spellings_of_the_flags_are_honoured();
  void nothing_ticked_says_what_to_tick();
  void nothing_that_fits_says_so_too();
  void grouped_heads_with_a_mask_forecast_the_math_path();
  void math_only_forecasts_the_whole_score_matrix();
  void the_forecast_gives_one_verdict_per_kernel();
};

struct Shape {
  std::vector<std::int64_t> query{1, 8, 64, 64};
  std::vector<std::int64_t> key{1, 8, 64, 64};
  DType dtype = DType::bfloat16;
  Device device = Device::accel();
};

AttentionCall call_of(const Shape& shape) {
  AttentionCall call;
  call.query = TensorView::contiguous(shape.query, shape.dtype, shape.device);
  call.key = TensorView::contiguous(shape.key, shape.dtype, shape.device);
  call.value = call.key;
  call.enable_gqa = call.heads() != call.kv_heads();
  return call;
}

AttentionCall masked(AttentionCall call, DType dtype = DType::boolean) {
  call.attn_mask = TensorView::contiguous({1, 1, call.query_tokens(), call.key_tokens()}, dtype, call.query.device);
  return call;
}

AttentionCall causal(AttentionCall call) {
  call.is_causal = true;
  return call;
}

Settings flags(const OptionList& list) { return {{"sdp_options", list}}; }

void SdpaTest::the_variant_follows_flags_platform_and_call_data() {
  QTest::addColumn<QString>("platform");
  QTest::addColumn<int>("capability");
  QTest::addColumn<QString>("kernels");
  QTest::addColumn<AttentionCall>("call");
  QTest::addColumn<QString>("variant");
  const AttentionCall plain = call_of({});
  const Shape grouped{{1, 8, 64, 64}, {1, 2, 64, 64}};
  const Shape fp32{{1, 8, 64, 64}, {1, 8, 64, 64}, DType::float32};
  const Shape on_cpu{{1, 8, 64, 64}, {1, 8, 64, 64}, DType::float32, Device::cpu()};
  const QString all = "Flash,Memory,Math";
  const auto row = [](const char* name, const char* platform, int capability, const QString& kernels,
                      const AttentionCall& call, const char* variant) {
    QTest::newRow(name) << platform << capability << kernels << call << variant;
  };

  row("plain", "cuda", 90, all, plain, "flash");
  row("no flash", "cuda", 90, "Memory,Math", plain, "memory-efficient");
  row("math alone", "cuda", 90, "Math", plain, "math");
  row("unknown capability", "cuda", 0, all, plain, "flash");
  row("rocm", "rocm", 0, all, plain, "flash");
  row("mask", "cuda", 90, all, masked(plain), "memory-efficient");
  row("float mask", "cuda", 90, all, masked(plain, DType::bfloat16), "memory-efficient");
  row("mask, no memory-efficient", "cuda", 90, "Flash,Math", masked(plain), "math");
  row("fp32", "cuda", 90, all, call_of(fp32), "memory-efficient");
  row("head_dim 256", "cuda", 90, all, call_of({{1, 2, 64, 256}, {1, 2, 64, 256}}), "flash");
  row("head_dim 512, the VAE's", "cuda", 90, all, call_of({{1, 1, 64, 512}, {1, 1, 64, 512}}), "memory-efficient");
  row("head_dim 12 of halves", "cuda", 90, "Memory,Math", call_of({{1, 2, 64, 12}, {1, 2, 64, 12}}), "math");
  row("grouped heads", "cuda", 90, all, call_of(grouped), "flash");
  row("grouped heads, no flash", "cuda", 90, "Memory,Math", call_of(grouped), "math");
  row("grouped heads and a mask", "cuda", 90, all, masked(call_of(grouped)), "math");
  row("causal", "cuda", 90, all, causal(plain), "flash");
  row("causal, longer keys", "cuda", 90, all, causal(call_of({{1, 8, 64, 64}, {1, 8, 96, 64}})), "memory-efficient");
  row("causal and a mask", "cuda", 90, all, causal(masked(plain)), "math");
  row("rank 3", "cuda", 90, all, call_of({{8, 64, 64}, {8, 64, 64}}), "math");
  row("rank 5", "cuda", 90, all, call_of({{2, 1, 8, 64, 64}, {2, 1, 8, 64, 64}}), "math");
  row("no keys", "cuda", 90, all, call_of({{1, 8, 64, 64}, {1, 8, 0, 64}}), "math");
  row("bf16 on a T4", "cuda", 75, all, plain, "math");
  row("fp16 on a T4", "cuda", 75, all, call_of({{1, 8, 64, 64}, {1, 8, 64, 64}, DType::float16}), "memory-efficient");
  row("cpu", "cpu", 0, all, call_of(on_cpu), "flash");
  row("cpu with a mask", "cpu", 0, all, masked(call_of(on_cpu)), "flash");
  row("cpu without flash", "cpu", 0, "Memory,Math", call_of(on_cpu), "math");
  row("a cpu query of a cuda target", "cuda", 90, all, masked(call_of(on_cpu)), "flash");
  AttentionCall mixed = plain;
  mixed.value.dtype = DType::float16;
  row("mixed dtypes", "cuda", 90, all, mixed, "math");
  AttentionCall value_dim = plain;
  value_dim.value = TensorView::contiguous({1, 8, 64, 32}, DType::bfloat16);
  row("value_dim differs", "cuda", 90, all, value_dim, "memory-efficient");
}

void SdpaTest::the_variant_follows_flags_platform_and_call() {
  QFETCH(QString, platform);
  QFETCH(int, capability);
  QFETCH(QString, kernels);
  QFETCH(AttentionCall, call);
  QFETCH(QString, variant);
  OptionList list;
  for (const QString& kernel : kernels.split(',')) list.push_back(kernel.toStdString());
  const Target target = machine(platform.toStdString(), capability == 0 ? std::nullopt : std::optional(capability));
  const auto kernel = kernel_of("sdpa", target, flags(list));
  const KernelResult route = kernel->route(call, nullptr);
  QCOMPARE(q(route.variant), variant);
  QCOMPARE(q(route.backend), q("sdpa"));
  QVERIFY(route.failure.empty());
  QCOMPARE(q(kernel->forecast(call, nullptr).would_run.variant), variant);
}

void SdpaTest::run_and_route_agree_for_every_set_of_flags() {
  HostTensor query({1, 4, 20, 16}, DType::float16);
  HostTensor key({1, 2, 24, 16}, DType::float16);
  HostTensor mask({20, 24}, DType::float16);
  HostTensor output({1, 4, 20, 16}, DType::float16);
  fill_normal(query.view(), 1);
  fill_normal(key.view(), 2);
  int served = 0;
  for (int set = 0; set < 8; ++set) {
    OptionList list;
    for (int i = 0; i < 3; ++i) {
      if ((set >> i & 1) != 0) list.emplace_back(i == 0 ? "Flash" : i == 1 ? "Memory" : "Math");
    }
    for (const char* platform : {"cuda", "cpu"}) {
      for (const bool with_mask : {false, true}) {
        const auto kernel = kernel_of("sdpa", machine(platform), flags(list));
        AttentionCall call;
        call.query = query.view();
        call.key = call.value = key.view();
        call.output = output.view();
        call.enable_gqa = true;
        if (with_mask) call.attn_mask = mask.view();
        const KernelResult planned = kernel->route(call, nullptr);
        const KernelResult ran = kernel->run(call, nullptr);
        QCOMPARE(q(ran.variant), q(planned.variant));
        QCOMPARE(q(ran.failure), q(planned.failure));
        served += ran.failure.empty() ? 1 : 0;
      }
    }
  }
  // cuda: with Math always, else flash alone and only without a mask; cpu: with Flash or Math.
  QCOMPARE(served, (8 + 2) + 12);
}

void SdpaTest::older_spellings_of_the_flags_are_honoured() {
  const AttentionCall call = masked(call_of({}));
  QCOMPARE(q(kernel_of("sdpa", machine("cuda"), flags({"Memory attention"}))->route(call, nullptr).variant),
           q("memory-efficient"));
  QCOMPARE(q(kernel_of("sdpa", machine("cuda"), flags({"Math attention"}))->route(call, nullptr).variant), q("math"));
  QCOMPARE(q(kernel_of("sdpa", machine("cuda"), flags({"Flash attention"}))->route(call_of({}), nullptr).variant),
           q("flash"));
}

void SdpaTest::nothing_ticked_says_what_to_tick() {
  const auto kernel = kernel_of("sdpa", machine("cuda"), flags({}));
  const AttentionCall call = call_of({});
  const QString wanted = "no sdpa kernel is enabled: tick Flash, Memory or Math in sdp_options";
  QCOMPARE(q(kernel->run(call, nullptr).failure), wanted);
  QCOMPARE(q(kernel->route(call, nullptr).failure), wanted);
  QCOMPARE(q(kernel->forecast(call, nullptr).would_run.failure), wanted);
}

void SdpaTest::nothing_that_fits_says_so_too() {
  const auto kernel = kernel_of("sdpa", machine("cuda"), flags({"Flash"}));
  QCOMPARE(q(kernel->route(masked(call_of({})), nullptr).failure),
           q("no enabled sdpa kernel takes this call: tick Math in sdp_options"));
}

void SdpaTest::grouped_heads_with_a_mask_forecast_the_math_path() {
  const AttentionCall call = masked(call_of({{1, 32, 27000, 128}, {1, 8, 27000, 128}}), DType::bfloat16);
  const KernelForecast forecast = kernel_of("sdpa", machine("cuda"))->forecast(call, nullptr);
  QCOMPARE(q(forecast.would_run.variant), q("math"));
  QCOMPARE(forecast.memory_bytes, std::int64_t{93312000000});
  QCOMPARE(forecast.warnings.size(), std::size_t{2});
  QCOMPARE(q(forecast.warnings[0]), q("gqa+mask: math path, score matrix 93.3 GB (32*27000^2*4 bytes)"));
  QCOMPARE(q(forecast.warnings[1]), q("expand k/v: +0.33 GB net"));

  // Expanded, the memory-efficient kernel takes it; that is what the second line promises.
  const AttentionCall expanded = masked(call_of({{1, 32, 27000, 128}, {1, 32, 27000, 128}}), DType::bfloat16);
  QCOMPARE(q(kernel_of("sdpa", machine("cuda"))->route(expanded, nullptr).variant), q("memory-efficient"));
  QVERIFY(kernel_of("sdpa", machine("cuda"))->forecast(expanded, nullptr).warnings.empty());
  // Without the memory-efficient kernel expanding would not help, and nothing says so.
  QCOMPARE(kernel_of("sdpa", machine("cuda"), flags({"Flash", "Math"}))->forecast(call, nullptr).warnings.size(),
           std::size_t{1});
}

void SdpaTest::math_only_forecasts_the_whole_score_matrix() {
  // 24 * 27280^2 scores of 4 bytes: fp32, although the call is bf16.
  const AttentionCall call = call_of({{1, 24, 27280, 128}, {1, 24, 27280, 128}});
  Target small = machine("rocm");
  small.label = "RX 9060 XT";
  small.memory_bytes = 17095131136;
  const KernelForecast forecast = kernel_of("sdpa", small, flags({"Math"}))->forecast(call, nullptr);
  QCOMPARE(forecast.memory_bytes, std::int64_t{71443046400});
  QCOMPARE(forecast.warnings.size(), std::size_t{1});
  QCOMPARE(q(forecast.warnings[0]),
           q("math path needs 66.54 GiB (71443046400 bytes), more than the 15.92 GiB of RX 9060 XT"));
  const KernelForecast flash = kernel_of("sdpa", small)->forecast(call, nullptr);
  QCOMPARE(flash.memory_bytes, std::int64_t{24} * 27280 * 4);
  QVERIFY(flash.warnings.empty());
}

void SdpaTest::the_forecast_gives_one_verdict_per_kernel() {
  const KernelForecast forecast = kernel_of("sdpa", machine("cuda", 90))->forecast(masked(call_of({})), nullptr);
  QCOMPARE(forecast.choices.size(), std::size_t{3});
  QCOMPARE(q(forecast.choices[0].check), q("flash"));
  QVERIFY(!forecast.choices[0].ok);
  QCOMPARE(q(forecast.choices[0].reason), q("takes no attn_mask"));
  QCOMPARE(q(forecast.choices[1].check), q("memory-efficient"));
  QVERIFY(forecast.choices[1].ok && forecast.choices[1].reason.empty());
  QVERIFY(forecast.choices[2].ok);
}

}  // namespace attn::test

QTEST_GUILESS_MAIN(attn::test::SdpaTest)
#include "sdpa_test.moc"
