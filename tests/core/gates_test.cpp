// SPDX-License-Identifier: GPL-3.0-or-later
// Which call a backend accepts: every case of gates.json, answered by the declared constraints.
#include "core/registry/constraints.h"
#include "support/oracle.h"

#include <QtTest>
#include <algorithm>
#include <map>
#include <set>

using namespace attn;
using nlohmann::json;

namespace {

/// The constraints of plans.json's registry.
std::map<std::string, Constraints> declared() {
  std::map<std::string, Constraints> all;
  const json registry = test::oracle("plans.json");
  for (const json& backend : registry["registry"]) {
    all[backend["name"]] = test::constraints_of(backend["constraints"]);
  }
  return all;
}

std::vector<std::int64_t> formed(const std::string& form, std::int64_t heads, std::int64_t tokens, std::int64_t dim) {
  if (form == "2d") return {tokens, dim};
  if (form == "3d") return {heads, tokens, dim};
  if (form == "4d_b1") return {1, heads, tokens, dim};
  if (form == "4d_b2") return {2, heads, tokens, dim};
  return {2, 1, heads, tokens, dim};
}

/// A grid's cases one after another, the last axis fastest.
class Case {
 public:
  Case(const json& axes, std::size_t index) {
    for (std::size_t i = axes.size(); i-- > 0;) {
      const json& values = axes[i]["values"];
      values_[axes[i]["name"]] = values[index % values.size()];
      index /= values.size();
    }
  }
  [[nodiscard]] bool has(const std::string& axis) const { return values_.contains(axis); }
  const json& operator[](const std::string& axis) const { return values_.at(axis); }

  [[nodiscard]] AttentionCall call() const {
    const std::int64_t dim = values_.at("head_dim");
    std::int64_t heads = 8;
    std::int64_t kv_heads = 8;
    if (has("heads")) heads = kv_heads = values_.at("heads");
    if (has("heads_q_kv")) {
      heads = values_.at("heads_q_kv")[0];
      kv_heads = values_.at("heads_q_kv")[1];
    }
    const std::int64_t q_len = has("lens_q_k") ? values_.at("lens_q_k")[0] : values_.at("q_len");
    const std::int64_t k_len = has("lens_q_k") ? values_.at("lens_q_k")[1] : values_.at("k_len");
    std::string q_form = "4d_b1";
    if (has("form")) q_form = values_.at("form");
    if (has("q_form")) q_form = values_.at("q_form");
    if (has("batched") && !values_.at("batched").get<bool>()) q_form = "3d";
    const std::string kv_form = has("kv_form") ? values_.at("kv_form").get<std::string>() : q_form;
    const DType dtype = has("dtype") ? *parse_dtype(values_.at("dtype").get<std::string>()) : DType::bfloat16;
    AttentionCall call;
    call.query = TensorView::contiguous(formed(q_form, heads, q_len, dim), dtype, device("q_device", "q_device"));
    call.key = TensorView::contiguous(formed(kv_form, kv_heads, k_len, dim), dtype, device("k_device", "kv_device"));
    call.value = TensorView::contiguous(formed(kv_form, kv_heads, k_len, dim), dtype, device("v_device", "kv_device"));
    if (values_.at("masked").get<bool>()) call.attn_mask = TensorView::contiguous({q_len, k_len}, DType::boolean);
    return call;
  }

 private:
  [[nodiscard]] Device device(const std::string& axis, const std::string& shared) const {
    const std::string& name = has(axis) ? axis : shared;
    return has(name) ? *parse_device(values_.at(name).get<std::string>()) : Device::accel();
  }
  std::map<std::string, json> values_;
};

}  // namespace

class GatesTest : public QObject {
  Q_OBJECT
 private slots:
  void everyCaseOfEveryGridIsAnsweredAsTheOracleSays();
  void aQueryWithoutAHeadsDimensionIsDeclinedWhereTheReferenceThrows();
  void tablesNameEachCheckOnce();
};

void GatesTest::everyCaseOfEveryGridIsAnsweredAsTheOracleSays() {
  const json gates = test::oracle("gates.json");
  const auto constraints = declared();
  std::size_t checked = 0;
  for (const json& grid : gates["grids"]) {
    const std::size_t cases = grid["cases"];
    std::map<std::string, std::string> accept;
    for (const json& name : gates["backends"]) accept[name] = grid["accept"][name.get<std::string>()];
    for (std::size_t i = 0; i < cases; ++i) {
      const AttentionCall call = Case(grid["axes"], i).call();
      for (const auto& [name, bits] : accept) {
        const Constraints& c = constraints.at(name);
        const bool expected = test::bit_at(bits, i);
        const bool accepted = accepts(c, call);
        if (accepted != expected) {
          QFAIL(qPrintable(QString("grid %1 case %2 backend %3: accepts %4")
                               .arg(test::q(grid["name"].get<std::string>()))
                               .arg(i)
                               .arg(test::q(name))
                               .arg(accepted)));
        }
        const std::vector<Verdict> verdicts = explain(c, call);
        const bool explained = std::all_of(verdicts.begin(), verdicts.end(), [](const Verdict& v) { return v.ok; });
        QCOMPARE(explained, accepted);
        for (const Verdict& verdict : verdicts) QCOMPARE(verdict.ok, verdict.reason.empty());
        ++checked;
      }
    }
  }
  QCOMPARE(checked, std::size_t{(8000 + 64680 + 2592 + 400) * 5});
}

void GatesTest::aQueryWithoutAHeadsDimensionIsDeclinedWhereTheReferenceThrows() {
  // The reference throws on a 2-D query once every earlier check of sdnq holds; here it is a declined call with a
  // reason. The oracle's accept bit is 0 in both.
  const json gates = test::oracle("gates.json");
  const Constraints sdnq = declared().at("sdnq");
  std::size_t thrown = 0;
  for (const json& grid : gates["grids"]) {
    if (!grid.contains("rank_error") || !grid["rank_error"].contains("sdnq")) continue;
    const std::string bits = grid["rank_error"]["sdnq"];
    for (std::size_t i = 0; i < grid["cases"].get<std::size_t>(); ++i) {
      if (!test::bit_at(bits, i)) continue;
      ++thrown;
      const AttentionCall call = Case(grid["axes"], i).call();
      QVERIFY(!accepts(sdnq, call));
      QCOMPARE(explain(sdnq, call).back().check, std::string_view("min_heads"));
      QCOMPARE(explain(sdnq, call).back().reason, std::string("0 heads, needs 2"));
    }
  }
  QVERIFY(thrown > 0);
}

void GatesTest::tablesNameEachCheckOnce() {
  const auto names = check_names();
  QCOMPARE(std::set<std::string_view>(names.begin(), names.end()).size(), names.size());
}

QTEST_GUILESS_MAIN(GatesTest)
#include "gates_test.moc"
