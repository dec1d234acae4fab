// SPDX-License-Identifier: GPL-3.0-or-later
// The attention kernels, every block and thread of them run on the host, against the oracles and float64.
#include "backends/attention_case.h"
#include "cuda/host_memory.h"

#include <QTest>
#include <map>

namespace attn::test {

using cuda::AttentionTask;
using cuda::FactorGroup;
using cuda::Int8Options;

/// One way to serve a call, and what it then promises: kernel_configs.h says where the figures come from.
struct DeviceConfig {
  std::string name;
  bool exact = false;
  Int8Options options;
  double fp16 = 0.0;  ///< relative L1 distance to float64
  double bf16 = 0.0;
  double cosine = 0.0;
  double large_logits = 0.0;   ///< 0: no promise but finite
  bool value_of_call = false;  ///< values meet in the call's own dtype
};

Int8Options grouped(FactorGroup group) {
  Int8Options o;
  o.group = group;
  o.half_away = group != FactorGroup::warp;
  if (group == FactorGroup::warp) o.least_largest = 1e-7F;
  if (group == FactorGroup::thread) o.added = 1e-7F;
  return o;
}

std::vector<DeviceConfig> device_configs() {
  Int8Options sage90 = grouped(FactorGroup::thread);
  sage90.query_block = 64;
  sage90.key_block = 128;
  sage90.warp_rows = 16;
  Int8Options sdnq;
  Int8Options rough = sdnq;
  rough.smooth_keys = false;
  Int8Options rotated = sdnq;
  rotated.rotation_group = 256;  // brought down to the call's width
  return {
      {"exact", true, {}, 5e-4, 3e-3, 0.99999, 3e-3, true},
      {"sage thread", false, grouped(FactorGroup::thread), 0.021, 0.021, 0.9995, 0.06, false},
      {"sage thread 64 x 128", false, sage90, 0.021, 0.021, 0.9995, 0.06, false},
      {"sage warp", false, grouped(FactorGroup::warp), 0.021, 0.021, 0.999, 0.0, false},
      {"sage block", false, grouped(FactorGroup::block), 0.021, 0.021, 0.9995, 0.0, false},
      {"sdnq", false, sdnq, 0.019, 0.019, 0.9995, 0.04, true},
      {"sdnq not smoothed", false, rough, 0.025, 0.025, 0.9995, 0.0, true},
      {"sdnq hadamard", false, rotated, 0.019, 0.019, 0.9995, 0.04, true},
  };
}

/// The options as a call of some width and dtype needs them.
Int8Options options_for(const DeviceConfig& config, const AttentionCall& call) {
  Int8Options o = config.options;
  if (config.value_of_call) o.value = call.value.dtype;
  if (o.rotation_group > 0) {
    o.rotated_channels = 1;
    while (o.rotated_channels < call.head_dim()) o.rotated_channels *= 2;
    o.rotation_group = std::min(o.rotation_group, o.rotated_channels);
  }
  return o;
}

struct Served {
  std::string refusal;
  std::vector<float> output;
  std::vector<float> log_sum_exp;
};

Served serve(const DeviceConfig& config, const AttentionCall& call, const BlockSelection* selection,
             const cuda::HostRun& run = {}) {
  Served served;
  auto task = cuda::task_of_call(call);
  if (!task) return {"does not fold", {}, {}};
  served.log_sum_exp.assign(static_cast<std::size_t>(call.batch() * call.heads() * call.query_tokens()), NAN);
  task->log_sum_exp = served.log_sum_exp.data();
  std::optional<HostLists> lists;
  if (selection != nullptr) task->selection = lists.emplace(*selection).lists;
  const Int8Options options = options_for(config, call);
  served.refusal = config.exact ? cuda::refuse_exact_attention(*task) : cuda::refuse_int8_attention(*task, options);
  if (!served.refusal.empty()) return served;
  Memory workspace(config.exact ? cuda::exact_workspace_bytes(*task) : cuda::int8_workspace_bytes(*task, options));
  (void)(config.exact ? cuda::host_exact_attention(*task, workspace.data(), run)
                      : cuda::host_int8_attention(*task, options, workspace.data(), run));
  served.output = elements_of(call.output);
  return served;
}

class CudaAttentionTest : public QObject {
  Q_OBJECT

 private slots:
  void every_case_of_the_oracle_is_served_within_its_tolerance_data();
  void every_case_of_the_oracle_is_served_within_its_tolerance();

  void long_calls_agree_with_float64_data() { rows(); }
  void long_calls_agree_with_float64();
  void causal_and_masked_calls_agree_with_float64_data() { rows(); }
  void causal_and_masked_calls_agree_with_float64();
  void wide_rows_agree_with_float64_data();
  void wide_rows_agree_with_float64();
  void memory_layout_changes_nothing_data() { rows(); }
  void memory_layout_changes_nothing();
  void no_thread_races_and_no_bank_waits_data() { rows(); }
  void no_thread_races_and_no_bank_waits();
  void what_the_device_selects_is_what_attention_computes_data() { rows(); }
  void what_the_device_selects_is_what_attention_computes();
  void the_host_kernels_compute_the_same_numbers_data();
  void the_host_kernels_compute_the_same_numbers();
  void what_a_kernel_cannot_do_is_refused_with_a_clause();

 private:
  void rows() const;
  [[nodiscard]] const std::vector<float>& reference(const std::string& name, const AttentionCall& call);
  [[nodiscard]] std::vector<AttentionCase>& cases(DType dtype);

  std::map<DType, std::vector<AttentionCase>> cases_;
  std::map<std::string, std::vector<float>> log_sum_exp_;
  std::map<std::string, std::vector<float>> references_;  ///< float64 takes its time, and is the same for every kernel
  const std::vector<DeviceConfig> configs_ = device_configs();
};

std::vector<AttentionCase>& CudaAttentionTest::cases(DType dtype) {
  std::vector<AttentionCase>& made = cases_[dtype];
  if (made.empty()) {
    const nlohmann::json table = oracle("attention.json");
    const SafeTensors tensors = SafeTensors::oracle("attention.safetensors");
    for (const auto& row : table.at("cases")) {
      made.push_back(read_case(row, tensors, dtype));
      log_sum_exp_[made.back().id] = elements_of(tensors.tensor(row.at("lse").get<std::string>()).view());
    }
  }
  return made;
}

void CudaAttentionTest::every_case_of_the_oracle_is_served_within_its_tolerance_data() {
  QTest::addColumn<int>("config");
  QTest::addColumn<int>("dtype");
  for (std::size_t i = 0; i < configs_.size(); ++i) {
    for (const DType dtype : {DType::float16, DType::bfloat16}) {
      const std::string name = configs_[i].name + " " + std::string(short_name_of(dtype));
      QTest::newRow(name.c_str()) << static_cast<int>(i) << static_cast<int>(dtype);
    }
  }
}

void CudaAttentionTest::every_case_of_the_oracle_is_served_within_its_tolerance() {
  QFETCH(int, config);
  QFETCH(int, dtype);
  const DeviceConfig& wanted = configs_[static_cast<std::size_t>(config)];
  const auto input = static_cast<DType>(dtype);
  int served = 0;
  int wide = 0;
  for (AttentionCase& made : cases(input)) {
    if (made.output.memory().size() > 0) std::memset(made.output.memory().data(), 0xFF, made.output.memory().size());
    const Served result = serve(wanted, made.call, made.selection ? &*made.selection : nullptr);
    const std::string where = made.id + " " + made.name;
    if (made.call.head_dim() > 128 && !wanted.exact && wanted.options.group != FactorGroup::token) {
      QCOMPARE(q(result.refusal), QString("takes more than 128 channels with a factor for each token only"));
      ++wide;
      continue;
    }
    QVERIFY2(result.refusal.empty(), (where + ": " + result.refusal).c_str());
    ++served;
    const Distance far = distance(result.output, made.reference);
    const std::string found =
        where + ": relative L1 " + std::to_string(far.relative_l1) + ", cosine " + std::to_string(far.cosine);
    QVERIFY2(far.not_finite == 0, (where + " has NaN or infinity").c_str());
    const bool large = made.max_abs_logit > 100.0;
    if (large && wanted.large_logits == 0.0) continue;
    const double allowed =
        std::max(input == DType::float16 ? wanted.fp16 : wanted.bf16, large ? wanted.large_logits : 0.0);
    QVERIFY2(far.relative_l1 <= allowed, found.c_str());
    QVERIFY2(large || made.reference.size() < 2 || far.cosine >= wanted.cosine, found.c_str());
    const std::vector<float>& lse = log_sum_exp_[made.id];
    QCOMPARE(lse.size(), result.log_sum_exp.size());
    for (std::size_t i = 0; i < lse.size(); ++i) {
      const std::string at = where + ": log-sum-exp " + std::to_string(result.log_sum_exp[i]) + " at " +
                             std::to_string(i) + ", right is " + std::to_string(lse[i]);
      QVERIFY2(std::isinf(lse[i]) == std::isinf(result.log_sum_exp[i]), at.c_str());
      // INT8: the largest score decides, which is off by a share of the largest product of the row.
      const double size = std::max({1.0, made.max_abs_logit, std::fabs(static_cast<double>(lse[i])) * 1e-2});
      const double slack = (wanted.exact ? 1e-4 : 0.02) * size;
      const double error = std::fabs(static_cast<double>(lse[i]) - static_cast<double>(result.log_sum_exp[i]));
      QVERIFY2(std::isinf(lse[i]) || error <= slack, at.c_str());
    }
  }
  const bool any_width = wanted.exact || wanted.options.group == FactorGroup::token;
  QCOMPARE(served, any_width ? 76 : 74);
  QCOMPARE(wide, any_width ? 0 : 2);
}

void CudaAttentionTest::rows() const {
  QTest::addColumn<int>("config");
  for (std::size_t i = 0; i < configs_.size(); ++i) QTest::newRow(configs_[i].name.c_str()) << static_cast<int>(i);
}

const std::vector<float>& CudaAttentionTest::reference(const std::string& name, const AttentionCall& call) {
  std::vector<float>& known = references_[name];
  if (known.empty()) known = reference_attention(call);
  return known;
}

/// Tensors of one call, filled.
struct MadeCall {
  HostTensor query;
  HostTensor key;
  HostTensor value;
  HostTensor output;
  AttentionCall call;

  MadeCall(std::int64_t heads, std::int64_t kv_heads, std::int64_t queries, std::int64_t keys, std::int64_t dim,
           DType dtype)
      : query({1, heads, queries, dim}, dtype),
        key({1, kv_heads, keys, dim}, dtype),
        value({1, kv_heads, keys, dim}, dtype),
        output({1, heads, queries, dim}, dtype) {
    fill_normal(query.view(), 11);
    fill_normal(key.view(), 12);
    fill_normal(value.view(), 13);
    call.query = query.view();
    call.key = key.view();
    call.value = value.view();
    call.output = output.view();
    call.enable_gqa = heads != kv_heads;
  }
};

void CudaAttentionTest::long_calls_agree_with_float64() {
  QFETCH(int, config);
  const DeviceConfig& wanted = configs_[static_cast<std::size_t>(config)];
  // Ragged against every tile, with more keys than the two tiles in shared memory and more than a mean's chunk.
  for (const std::int64_t dim : {64, 128}) {
    const MadeCall made(4, 2, 261, 709, dim, DType::bfloat16);
    const Served result = serve(wanted, made.call, nullptr);
    QVERIFY2(result.refusal.empty(), result.refusal.c_str());
    const Distance far = distance(result.output, reference("long " + std::to_string(dim), made.call));
    QVERIFY2(far.relative_l1 <= wanted.bf16 && far.cosine >= wanted.cosine, std::to_string(far.relative_l1).c_str());
  }
}

void CudaAttentionTest::causal_and_masked_calls_agree_with_float64() {
  QFETCH(int, config);
  const DeviceConfig& wanted = configs_[static_cast<std::size_t>(config)];
  for (const std::int64_t dim : {64, 128}) {
    MadeCall made(2, 2, 200, 330, dim, DType::float16);
    made.call.is_causal = true;
    const Served causal = serve(wanted, made.call, nullptr);
    const Distance first = distance(causal.output, reference("causal " + std::to_string(dim), made.call));
    QVERIFY2(first.relative_l1 <= wanted.fp16, std::to_string(first.relative_l1).c_str());
    HostTensor mask({2, 1, 330}, DType::float32);  // one row of biases a head, broadcast to the rest
    fill_normal(mask.view(), 14);
    made.call.attn_mask = mask.view();
    made.call.is_causal = false;
    const Served masked = serve(wanted, made.call, nullptr);
    const Distance second = distance(masked.output, reference("masked " + std::to_string(dim), made.call));
    QVERIFY2(second.relative_l1 <= wanted.fp16, std::to_string(second.relative_l1).c_str());
    QVERIFY(masked.output != causal.output);
  }
}

void CudaAttentionTest::wide_rows_agree_with_float64_data() {
  QTest::addColumn<QString>("config");
  QTest::addColumn<int>("dim");
  QTest::addColumn<int>("value_dim");
  QTest::newRow("160") << "exact" << 160 << 160;
  QTest::newRow("256") << "exact" << 256 << 256;
  QTest::newRow("512, as of a VAE") << "exact" << 512 << 512;
  QTest::newRow("129, rows that are packed first") << "exact" << 129 << 129;
  QTest::newRow("wide values only") << "exact" << 40 << 200;
  QTest::newRow("wide scores only") << "exact" << 192 << 24;
  QTest::newRow("int8 160") << "sdnq" << 160 << 160;
  QTest::newRow("int8 256, not smoothed") << "sdnq not smoothed" << 256 << 256;
  QTest::newRow("int8 256, rotated") << "sdnq hadamard" << 256 << 256;
  QTest::newRow("int8 129, values packed first") << "sdnq" << 129 << 129;
  QTest::newRow("int8, wide values only") << "sdnq" << 40 << 200;
  QTest::newRow("int8, wide scores only") << "sdnq hadamard" << 192 << 24;
}

void CudaAttentionTest::wide_rows_agree_with_float64() {
  QFETCH(QString, config);
  QFETCH(int, dim);
  QFETCH(int, value_dim);
  const DeviceConfig& wanted = *std::find_if(
      configs_.begin(), configs_.end(), [&](const DeviceConfig& made) { return made.name == config.toStdString(); });
  const std::string name = std::to_string(dim) + " " + std::to_string(value_dim);
  MadeCall made(2, 1, 261, 333, dim, DType::float16);
  HostTensor value({1, 1, 333, value_dim}, DType::float16);
  HostTensor output({1, 2, 261, value_dim}, DType::float16);
  fill_normal(value.view(), 13);
  made.call.value = value.view();
  made.call.output = output.view();
  const auto check = [&](const std::string& which, const BlockSelection* selection, const AttentionCall& right) {
    cuda::AuditReport report;
    std::memset(output.memory().data(), 0xFF, output.memory().size());
    const Served result = serve(wanted, made.call, selection, {cuda::ThreadOrder::shuffled, &report});
    QVERIFY2(result.refusal.empty(), result.refusal.c_str());
    const Distance far = distance(result.output, reference("wide " + which + " " + name, right));
    QVERIFY2(far.relative_l1 <= wanted.fp16 && far.not_finite == 0, (which + std::to_string(far.relative_l1)).c_str());
    QVERIFY2(report.races == 0 && report.unset_reads == 0 && report.out_of_bounds == 0, report.first.c_str());
    QCOMPARE(report.matrix_conflicts + report.copy_conflicts, 0);
    if (wanted.options.rotation_group == 0) QCOMPARE(report.plain_conflicts, 0);
    for (const float sum : result.log_sum_exp) QVERIFY(std::isfinite(sum));
  };
  check("plain", nullptr, made.call);
  made.call.is_causal = true;
  check("causal", nullptr, made.call);
  made.call.is_causal = false;
  HostTensor mask({1, 2, 261, 333}, DType::float32);
  fill_normal(mask.view(), 14);
  made.call.attn_mask = mask.view();
  check("masked", nullptr, made.call);
  made.call.attn_mask.reset();
  BlockSelection selection;
  selection.query_tiles = 3;
  selection.key_tiles = 6;
  selection.keep = {1, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 1};
  HostTensor kept({261, 333}, DType::boolean);
  for (int i = 0; i < 261; ++i) {
    for (int j = 0; j < 333; ++j) kept.as<std::uint8_t>()[i * 333 + j] = selection.kept(0, 0, i / 128, j / 64) ? 1 : 0;
  }
  AttentionCall masked = made.call;
  masked.attn_mask = kept.view();
  check("selected", &selection, masked);
}

void CudaAttentionTest::memory_layout_changes_nothing() {
  QFETCH(int, config);
  const DeviceConfig& wanted = configs_[static_cast<std::size_t>(config)];
  MadeCall made(3, 3, 140, 170, 64, DType::bfloat16);
  const Served expected = serve(wanted, made.call, nullptr);
  for (const std::int64_t parts : {1, 3}) {
    const LaidTensor laid[] = {transposed(made.query.view(), parts), transposed(made.key.view(), parts),
                               transposed(made.value.view(), parts), transposed(made.output.view(), parts)};
    AttentionCall call = made.call;
    call.query = laid[0].view;
    call.key = laid[1].view;
    call.value = laid[2].view;
    call.output = laid[3].view;
    const Served result = serve(wanted, call, nullptr);
    QVERIFY(result.output == expected.output);
    QVERIFY(result.log_sum_exp == expected.log_sum_exp);
  }
  // Rows that no 16-byte copy can start at are packed first.
  HostTensor odd({1, 3, 170, 71}, DType::bfloat16);
  TensorView narrow = odd.view();
  narrow.shape[3] = 64;
  for (std::int64_t row = 0; row < 3 * 170; ++row) {
    for (std::int64_t d = 0; d < 64; ++d)
      store_element(narrow, row * 71 + d, load_element(made.value.view(), row * 64 + d));
  }
  AttentionCall call = made.call;
  call.value = narrow;
  QVERIFY(serve(wanted, call, nullptr).output == expected.output);
}

void CudaAttentionTest::no_thread_races_and_no_bank_waits() {
  QFETCH(int, config);
  const DeviceConfig& wanted = configs_[static_cast<std::size_t>(config)];
  for (const std::int64_t dim : {40, 128}) {  // tiles of both widths, one of them not full
    for (const bool masked : {false, true}) {
      MadeCall made(1, 1, 150, 275, dim, DType::float16);
      HostTensor mask({1, 275}, DType::boolean);
      for (int j = 0; j < 275; ++j) mask.as<std::uint8_t>()[j] = j % 5 != 0 ? 1 : 0;
      if (masked) made.call.attn_mask = mask.view();
      std::vector<float> first;
      cuda::AuditReport report;
      for (const auto order : {cuda::ThreadOrder::forward, cuda::ThreadOrder::reverse, cuda::ThreadOrder::shuffled}) {
        const Served result = serve(wanted, made.call, nullptr, {order, &report});
        if (first.empty()) first = result.output;
        QVERIFY(result.output == first);
      }
      QVERIFY(report.accesses > 0);
      QVERIFY2(report.races == 0 && report.unset_reads == 0 && report.out_of_bounds == 0, report.first.c_str());
      QCOMPARE(report.matrix_conflicts, 0);
      QCOMPARE(report.copy_conflicts, 0);
      if (wanted.options.rotation_group == 0) QCOMPARE(report.plain_conflicts, 0);
    }
  }
}

void CudaAttentionTest::what_the_device_selects_is_what_attention_computes() {
  QFETCH(int, config);
  const DeviceConfig& wanted = configs_[static_cast<std::size_t>(config)];
  MadeCall made(2, 1, 333, 700, 64, DType::float16);
  for (const bool causal : {false, true}) {
    made.call.is_causal = causal;
    AttentionTask task = *cuda::task_of_call(made.call);
    std::vector<int> tiles(2 * 3 * 11, -1);
    std::vector<int> counts(2 * 3, -1);
    std::vector<std::uint8_t> keep(tiles.size(), 0xFF);
    cuda::SelectionTask selecting;
    selecting.shape = task.shape;
    selecting.query = task.query;
    selecting.key = task.key;
    selecting.budget = 0.4F;
    selecting.lists = {tiles.data(), counts.data(), 3, 11, 6, 3};
    selecting.keep = keep.data();
    Memory scratch(cuda::selection_workspace_bytes(selecting));
    QVERIFY(cuda::host_selection(selecting, scratch.data()).ok());
    task.selection = selecting.lists;  // what the selection wrote, handed on without being looked at
    const Int8Options options = options_for(wanted, made.call);
    Memory workspace(wanted.exact ? cuda::exact_workspace_bytes(task) : cuda::int8_workspace_bytes(task, options));
    QVERIFY((wanted.exact ? cuda::host_exact_attention(task, workspace.data())
                          : cuda::host_int8_attention(task, options, workspace.data()))
                .ok());

    HostTensor mask({2, 333, 700}, DType::boolean);
    for (int h = 0; h < 2; ++h) {
      for (int i = 0; i < 333; ++i) {
        for (int j = 0; j < 700; ++j) {
          mask.as<std::uint8_t>()[(h * 333 + i) * 700 + j] =
              keep[static_cast<std::size_t>((h * 3 + i / 128) * 11 + j / 64)];
        }
      }
    }
    AttentionCall masked = made.call;
    masked.attn_mask = mask.view();
    const Distance far =
        distance(elements_of(made.call.output), reference(causal ? "selected causal" : "selected", masked));
    QVERIFY2(far.relative_l1 <= wanted.fp16 && far.not_finite == 0, std::to_string(far.relative_l1).c_str());
    QVERIFY(counts[0] < 11);
  }
}

void CudaAttentionTest::the_host_kernels_compute_the_same_numbers_data() {
  QTest::addColumn<QString>("config");
  QTest::addColumn<QString>("backend");
  QTest::addColumn<bool>("hadamard");
  QTest::newRow("sdnq") << "sdnq"
                        << "sdnq" << false;
  QTest::newRow("sdnq hadamard") << "sdnq hadamard"
                                 << "sdnq" << true;
  QTest::newRow("sage") << "sage thread"
                        << "sage" << false;
}

void CudaAttentionTest::the_host_kernels_compute_the_same_numbers() {
  QFETCH(QString, config);
  QFETCH(QString, backend);
  QFETCH(bool, hadamard);
  const auto device = std::find_if(configs_.begin(), configs_.end(),
                                   [&](const DeviceConfig& made) { return made.name == config.toStdString(); });
  const auto host = kernel_of(backend.toStdString(), machine("cuda", 80), {{"sdnq_attention_use_hadamard", hadamard}});
  QVERIFY(device != configs_.end() && host != nullptr);
  MadeCall made(2, 2, 300, 520, 128, DType::float16);
  const Served result = serve(*device, made.call, nullptr);
  QVERIFY(host->run(made.call, nullptr).failure.empty());
  // Both round the same values to the same numbers, but for a few that lie on a half: far closer to each other than to
  // float64, whose distance is that of INT8.
  const std::vector<float> twin = elements_of(made.call.output);
  const Distance apart = distance(result.output, twin);
  const Distance far = distance(twin, reference("twin", made.call));
  QVERIFY2(apart.relative_l1 <= 1.5e-3, std::to_string(apart.relative_l1).c_str());
  QVERIFY2(apart.relative_l1 * 4 < far.relative_l1, std::to_string(far.relative_l1).c_str());
}

void CudaAttentionTest::what_a_kernel_cannot_do_is_refused_with_a_clause() {
  MadeCall made(4, 4, 40, 50, 64, DType::float16);
  AttentionTask task = *cuda::task_of_call(made.call);
  const auto int8 = [&] { return q(cuda::refuse_int8_attention(task, {})); };
  const auto exact = [&] { return q(cuda::refuse_exact_attention(task)); };
  QVERIFY(int8().isEmpty() && exact().isEmpty());
  task.shape.kv_heads = 3;
  QCOMPARE(exact(), QString("needs query heads in multiples of key heads"));
  task.shape.kv_heads = 4;
  task.value.dtype = DType::bfloat16;
  QCOMPARE(exact(), QString("takes query, key and value all in float16 or all in bfloat16"));
  QVERIFY(int8().isEmpty());
  task.value.dtype = DType::int8;
  QCOMPARE(int8(), QString("takes float32, float16 and bfloat16"));
  task.value.dtype = DType::float16;
  int list = 0;
  task.selection.tiles = &list;
  task.selection.query_tiles = 1;
  task.selection.key_tiles = 2;
  QCOMPARE(int8(), QString("takes block selections of 128 by 64 tokens that cover the call"));
  task.selection.key_tiles = 1;
  QVERIFY(int8().isEmpty());
  Int8Options options;
  options.query_block = 96;
  QCOMPARE(q(cuda::refuse_int8_attention(task, options)), QString("needs blocks that divide 128 tokens"));
  options.query_block = 128;
  options.rotation_group = 64;
  options.rotated_channels = 32;
  QCOMPARE(q(cuda::refuse_int8_attention(task, options)), QString("rotates powers of two of at most 256 channels"));
  task.shape.head_dim = 513;
  QCOMPARE(exact(), QString("takes a head_dim of at most 512"));
  task.shape.head_dim = 512;
  QVERIFY(exact().isEmpty());
  task.output.dtype = DType::int8;
  QCOMPARE(exact(), QString("writes float32, float16 or bfloat16"));
}

}  // namespace attn::test

QTEST_GUILESS_MAIN(attn::test::CudaAttentionTest)
#include "attention_test.moc"
