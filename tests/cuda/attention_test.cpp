// SPDX-License-Identifier: GPL-3.0-or-later
// The attention kernels, every block and thread of them run on the host, against the oracles and float64.
#include "backends/attention_case.h"
#include "cuda/host_launcher.h"

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
  HostLauncher launcher{run, {}};
  cuda::AttentionLaunches<HostLauncher> launches(launcher, *task);
  (void)(config.exact ? launches.exact(workspace.data()) : launches.int8(options, workspace.data()));
  served.output = elements_of(call.output);
  return served;
}

class CudaAttentionTest : public QObject {
  Q_OBJECT

 private slots:
  void every_case_of_the_oracle_is_served_within_its_tolerance_data();
  void every_case_of_the_oracle_is_served_within_its_tolerance();

 private:
  [[nodiscard]] std::vector<AttentionCase>& cases(DType dtype);

  std::map<DType, std::vector<AttentionCase>> cases_;
  std::map<std::string, std::vector<float>> log_sum_exp_;
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
    if (made.call.head_dim() > 128) {
      QCOMPARE(q(result.refusal), QString("takes a head_dim of at most 128"));
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
  QCOMPARE(served, 74);
  QCOMPARE(wide, 2);
}

}  // namespace attn::test

QTEST_GUILESS_MAIN(attn::test::CudaAttentionTest)
#include "attention_test.moc"
