// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernel_configs.h"

#include <QTest>
#include <algorithm>
#include <map>

namespace attn::test {

class AttentionTest : public QObject {
  Q_OBJECT

 private slots:
  void every_case_of_the_oracle_is_served_within_its_tolerance_data() { rows(true); }
  void every_case_of_the_oracle_is_served_within_its_tolerance();
  void the_constraints_take_the_cases_that_they_should_data();
  void the_constraints_take_the_cases_that_they_should();
  void memory_layout_changes_nothing_data() { rows(false); }
  void memory_layout_changes_nothing();
  void repeated_heads_may_be_a_view_data() { rows(false); }
  void repeated_heads_may_be_a_view();
  void the_same_call_gives_the_same_bits_data() { rows(false); }
  void the_same_call_gives_the_same_bits();
  void long_calls_agree_with_float64_data() { rows(false); }
  void long_calls_agree_with_float64();
  void equal_keys_give_the_mean_of_the_values_data() { rows(false); }
  void equal_keys_give_the_mean_of_the_values();

 private:
  void rows(bool dtypes);
  [[nodiscard]] std::vector<AttentionCase>& cases(DType dtype);

  std::map<DType, std::vector<AttentionCase>> cases_;
  std::vector<float> long_reference_;  // the same for every kernel, and float64 takes its time
  std::vector<float> equal_reference_;
  const std::vector<KernelConfig> configs_ = kernel_configs();
};

/// Bytes that read as NaN in every floating dtype: whatever is not written shows.
void poison(HostTensor& tensor) {
  if (tensor.memory().size() > 0) std::memset(tensor.memory().data(), 0xFF, tensor.memory().size());
}

bool one_of(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Whether a result stays within the least and largest value that it is an average of, give or take `slack`.
bool within_values(const AttentionCase& made, double slack) {
  const std::vector<float> values = elements_of(made.call.value);
  const auto [least, largest] = std::minmax_element(values.begin(), values.end());
  const std::vector<float> out = elements_of(made.call.output);
  return std::all_of(out.begin(), out.end(), [&, low = *least, high = *largest](float x) {
    return static_cast<double>(x) >= static_cast<double>(low) - slack &&
           static_cast<double>(x) <= static_cast<double>(high) + slack;
  });
}

std::vector<AttentionCase>& AttentionTest::cases(DType dtype) {
  std::vector<AttentionCase>& made = cases_[dtype];
  if (made.empty()) {
    const nlohmann::json table = oracle("attention.json");
    const SafeTensors tensors = SafeTensors::oracle("attention.safetensors");
    for (const auto& row : table.at("cases")) made.push_back(read_case(row, tensors, dtype));
  }
  return made;
}

void AttentionTest::rows(bool dtypes) {
  QTest::addColumn<int>("config");
  QTest::addColumn<int>("dtype");
  for (std::size_t i = 0; i < configs_.size(); ++i) {
    for (const DType dtype : {DType::float32, DType::float16, DType::bfloat16}) {
      if (!dtypes && dtype != DType::bfloat16) continue;
      const std::string name = configs_[i].name + " " + std::string(short_name_of(dtype));
      QTest::newRow(name.c_str()) << static_cast<int>(i) << static_cast<int>(dtype);
    }
  }
}

void AttentionTest::every_case_of_the_oracle_is_served_within_its_tolerance() {
  QFETCH(int, config);
  QFETCH(int, dtype);
  const KernelConfig& wanted = configs_[static_cast<std::size_t>(config)];
  const auto input = static_cast<DType>(dtype);
  const auto kernel = kernel_of(wanted.backend, wanted.target, wanted.settings);
  QVERIFY(kernel != nullptr);

  int served = 0;
  int refused = 0;
  for (AttentionCase& made : cases(input)) {
    poison(made.output);
    const BlockSelection* selection = made.selection ? &*made.selection : nullptr;
    const KernelResult result = kernel->run(made.call, selection);
    const std::string where = made.id + " " + made.name;
    QCOMPARE(q(result.backend), q(wanted.backend));
    if (selection != nullptr && !wanted.block_mask) {
      QCOMPARE(q(result.failure), q("takes no block selection"));
      ++refused;
      continue;
    }
    ++served;
    QVERIFY2(result.failure.empty(), (where + ": " + std::string(result.failure)).c_str());
    QVERIFY2(one_of(wanted.variants, result.variant), (where + " ran as " + std::string(result.variant)).c_str());
    const KernelResult planned = kernel->route(made.call, selection);
    QCOMPARE(q(planned.variant), q(result.variant));
    QVERIFY(planned.failure.empty());

    const Distance far = distance(elements_of(made.call.output), made.reference);
    const std::string found =
        where + ": relative L1 " + std::to_string(far.relative_l1) + ", cosine " + std::to_string(far.cosine);
    QVERIFY2(far.not_finite == 0, (where + " has NaN or infinity").c_str());
    if (made.max_abs_logit > 100.0 && wanted.tolerance.large_logits == 0.0) {
      QVERIFY2(within_values(made, 0.1), found.c_str());
      continue;
    }
    const bool large = made.max_abs_logit > 100.0;
    const double allowed = std::max(wanted.tolerance.for_dtype(input), large ? wanted.tolerance.large_logits : 0.0);
    QVERIFY2(far.relative_l1 <= allowed, found.c_str());
    QVERIFY2(large || made.reference.size() < 2 || far.cosine >= wanted.tolerance.cosine, found.c_str());
  }
  QCOMPARE(served + refused, 76);
  QCOMPARE(refused, wanted.block_mask ? 0 : 11);
}

void AttentionTest::the_constraints_take_the_cases_that_they_should_data() {
  QTest::addColumn<QString>("backend");
  QTest::addColumn<int>("fp32");
  QTest::addColumn<int>("half");
  // Of 76. sage: no mask, head_dim 64, 96 or 128. flash: no mask, not fp32, head_dim <= 128, causal only if square.
  // flex: everything of rank 4 or more. sdnq: nothing, since no case is longer than 512 tokens.
  QTest::newRow("sdnq") << "sdnq" << 0 << 0;
  QTest::newRow("sage") << "sage" << 32 << 32;
  QTest::newRow("flash") << "flash" << 0 << 47;
  QTest::newRow("triton") << "triton" << 47 << 47;
  QTest::newRow("flex") << "flex" << 74 << 74;
}

void AttentionTest::the_constraints_take_the_cases_that_they_should() {
  QFETCH(QString, backend);
  QFETCH(int, fp32);
  QFETCH(int, half);
  const Registry registry = make_registry();
  const Constraints& constraints = registry.by_name(backend.toStdString())->constraints;
  for (const DType dtype : {DType::float32, DType::float16, DType::bfloat16}) {
    int accepted = 0;
    for (const AttentionCase& made : cases(dtype)) accepted += accepts(constraints, made.call) ? 1 : 0;
    QCOMPARE(accepted, dtype == DType::float32 ? fp32 : half);
  }
}

void AttentionTest::memory_layout_changes_nothing() {
  QFETCH(int, config);
  const KernelConfig& wanted = configs_[static_cast<std::size_t>(config)];
  const auto kernel = kernel_of(wanted.backend, wanted.target, wanted.settings);
  HostTensor tensors[3] = {HostTensor({2, 3, 150, 64}, DType::bfloat16), HostTensor({2, 3, 170, 64}, DType::bfloat16),
                           HostTensor({2, 3, 170, 64}, DType::bfloat16)};
  for (std::size_t i = 0; i < 3; ++i) fill_normal(tensors[i].view(), i + 1);
  HostTensor dense_out({2, 3, 150, 64}, DType::bfloat16);
  AttentionCall call;
  call.query = tensors[0].view();
  call.key = tensors[1].view();
  call.value = tensors[2].view();
  call.output = dense_out.view();
  QVERIFY(kernel->run(call, nullptr).failure.empty());
  const std::vector<float> expected = elements_of(call.output);

  // Each tensor on its own, then all: one that is read as if it were contiguous is enough to be wrong.
  for (const std::int64_t parts : {1, 3}) {
    HostTensor out({2, 3, 150, 64}, DType::bfloat16);
    LaidTensor laid[4] = {transposed(tensors[0].view(), parts), transposed(tensors[1].view(), parts),
                          transposed(tensors[2].view(), parts), transposed(out.view(), parts)};
    QCOMPARE(layout_of(laid[0].view), parts == 1 ? Layout::transposed : Layout::fused_qkv);
    for (const int strided : {1, 2, 4, 8, 15}) {
      poison(out);
      poison(laid[3].memory);
      call.query = (strided & 1) != 0 ? laid[0].view : tensors[0].view();
      call.key = (strided & 2) != 0 ? laid[1].view : tensors[1].view();
      call.value = (strided & 4) != 0 ? laid[2].view : tensors[2].view();
      call.output = (strided & 8) != 0 ? laid[3].view : out.view();
      const KernelResult result = kernel->run(call, nullptr);
      QVERIFY(result.failure.empty());
      QVERIFY2(elements_of(call.output) == expected, ("strided tensors: " + std::to_string(strided)).c_str());
    }
  }
}

void AttentionTest::repeated_heads_may_be_a_view() {
  QFETCH(int, config);
  const KernelConfig& wanted = configs_[static_cast<std::size_t>(config)];
  const auto kernel = kernel_of(wanted.backend, wanted.target, wanted.settings);
  HostTensor query({2, 4, 70, 64}, DType::bfloat16);
  HostTensor key({2, 1, 90, 64}, DType::bfloat16);
  HostTensor value({2, 1, 90, 64}, DType::bfloat16);
  fill_normal(query.view(), 1);
  fill_normal(key.view(), 2);
  fill_normal(value.view(), 3);
  HostTensor grouped_out({2, 4, 70, 64}, DType::bfloat16);
  HostTensor expanded_out({2, 4, 70, 64}, DType::bfloat16);
  AttentionCall call;
  call.query = query.view();
  call.key = key.view();
  call.value = value.view();
  call.output = grouped_out.view();
  call.enable_gqa = true;
  QVERIFY(kernel->run(call, nullptr).failure.empty());
  call.enable_gqa = false;
  for (TensorView* view : {&call.key, &call.value}) {
    view->shape[1] = 4;
    view->stride[1] = 0;
  }
  QCOMPARE(layout_of(call.key), Layout::expanded);
  call.output = expanded_out.view();
  QVERIFY(kernel->run(call, nullptr).failure.empty());
  QVERIFY(elements_of(grouped_out.view()) == elements_of(expanded_out.view()));
}

void AttentionTest::the_same_call_gives_the_same_bits() {
  QFETCH(int, config);
  const KernelConfig& wanted = configs_[static_cast<std::size_t>(config)];
  const auto kernel = kernel_of(wanted.backend, wanted.target, wanted.settings);
  HostTensor query({1, 4, 300, 64}, DType::float32);
  HostTensor key({1, 4, 333, 64}, DType::float32);
  fill_normal(query.view(), 7);
  fill_normal(key.view(), 8);
  std::vector<float> first;
  for (int run = 0; run < 3; ++run) {
    HostTensor out({1, 4, 300, 64}, DType::float32);
    AttentionCall call;
    call.query = query.view();
    call.key = key.view();
    call.value = key.view();
    call.output = out.view();
    QVERIFY(kernel->run(call, nullptr).failure.empty());
    if (run == 0) first = elements_of(out.view());
    QVERIFY(elements_of(out.view()) == first);
  }
}

void AttentionTest::long_calls_agree_with_float64() {
  QFETCH(int, config);
  const KernelConfig& wanted = configs_[static_cast<std::size_t>(config)];
  const auto kernel = kernel_of(wanted.backend, wanted.target, wanted.settings);
  // Inside every backend's constraints: rank 4, two heads, over 512 tokens, ragged against every tile size.
  HostTensor query({1, 2, 517, 64}, DType::float32);
  HostTensor key({1, 2, 531, 64}, DType::float32);
  HostTensor value({1, 2, 531, 64}, DType::float32);
  fill_normal(query.view(), 11);
  fill_normal(key.view(), 12);
  fill_normal(value.view(), 13);
  HostTensor out({1, 2, 517, 64}, DType::float32);
  AttentionCall call;
  call.query = query.view();
  call.key = key.view();
  call.value = value.view();
  call.output = out.view();
  const KernelResult result = kernel->run(call, nullptr);
  QVERIFY(result.failure.empty());
  if (long_reference_.empty()) long_reference_ = reference_attention(call);
  const Distance far = distance(elements_of(out.view()), long_reference_);
  QVERIFY2(far.relative_l1 <= wanted.tolerance.fp32, std::to_string(far.relative_l1).c_str());
  QVERIFY2(far.cosine >= wanted.tolerance.cosine, std::to_string(far.cosine).c_str());
  if (wanted.backend == "sdnq") QVERIFY(accepts(make_registry().by_name("sdnq")->constraints, call));
}

void AttentionTest::equal_keys_give_the_mean_of_the_values() {
  QFETCH(int, config);
  const KernelConfig& wanted = configs_[static_cast<std::size_t>(config)];
  const auto kernel = kernel_of(wanted.backend, wanted.target, wanted.settings);
  HostTensor query({2, 10, 96, 64}, DType::float16);
  HostTensor row({2, 10, 1, 64}, DType::float16);
  HostTensor value({2, 10, 77, 64}, DType::float16);
  fill_normal(query.view(), 21);
  fill_normal(row.view(), 22);
  fill_normal(value.view(), 23);
  HostTensor out({2, 10, 96, 64}, DType::float16);
  AttentionCall call;
  call.query = query.view();
  call.key = row.view();
  call.key.shape[2] = 77;  // one padding token, repeated by the view
  call.key.stride[2] = 0;
  call.value = value.view();
  call.output = out.view();
  QVERIFY(kernel->run(call, nullptr).failure.empty());
  if (equal_reference_.empty()) equal_reference_ = reference_attention(call);
  const Distance far = distance(elements_of(out.view()), equal_reference_);
  QCOMPARE(far.not_finite, std::size_t{0});
  QVERIFY2(far.max_abs < 2e-2, std::to_string(far.max_abs).c_str());
}

}  // namespace attn::test

QTEST_GUILESS_MAIN(attn::test::AttentionTest)
#include "attention_test.moc"
