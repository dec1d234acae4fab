// SPDX-License-Identifier: GPL-3.0-or-later
// Presets: the shipped ones hold on every target, own ones are kept, renamed, deleted, taken and given away.
#include "app/jobs/presets/presets.h"
#include "app/jobs/exchange/exchange.h"
#include "app/jobs/files/atomic_file.h"
#include "app/jobs/resources.h"
#include "app/jobs/targets/targets.h"
#include "backends/all.h"
#include "support/attnctl.h"

#include <QTemporaryDir>
#include <QTest>

using namespace attn;
using namespace attn::app;

namespace {

std::vector<std::string> names_of(const PresetShelf& shelf) {
  std::vector<std::string> names;
  for (const Preset& preset : shelf.list()) names.push_back(preset.name);
  return names;
}

using Names = std::vector<std::string>;
const Names kShipped{"exact", "fast int8", "low memory", "sparse 30 %"};

}  // namespace

class PresetsTest : public QObject {
  Q_OBJECT

 private slots:
  void init() {
    folder_ = std::make_unique<QTemporaryDir>();
    shelf_ = std::make_unique<PresetShelf>(resource_path("presets"), file("own"));
    engine_ = std::make_unique<Engine>(make_registry(), *find_target("rtx-3090"));
  }

  void every_shipped_preset_holds_on_every_target() {
    QVERIFY(names_of(*shelf_) == kShipped);
    const auto targets = load_targets();
    QVERIFY(targets.has_value() && targets->size() > 5);
    for (const Target& target : *targets) {
      Engine engine(make_registry(), target);
      for (const Preset& preset : shelf_->list()) {
        QVERIFY(preset.shipped && !preset.about.empty());
        const auto read = read_preset(preset, production_settings(engine));
        QVERIFY2(read.has_value(), preset.name.c_str());
        QVERIFY2(read->problems.empty(), (target.name + ": " + preset.name).c_str());
        for (const std::string& note : read->notes) QFAIL((target.name + ": " + note).c_str());
        const auto applied = apply_preset(preset, engine);
        QVERIFY2(applied.has_value(), preset.name.c_str());
        QVERIFY2(holds(preset, production_settings(engine)), (target.name + ": " + preset.name).c_str());
      }
    }
  }

  void a_preset_puts_its_chain_in_force_data() {
    QTest::addColumn<QString>("name");
    QTest::addColumn<QString>("chain");
    QTest::addColumn<bool>("sparse");
    QTest::newRow("exact") << "exact"
                           << "sdpa" << false;
    QTest::newRow("fast int8") << "Fast INT8"
                               << "sdnq>flash>sdpa" << false;
    QTest::newRow("sparse 30 %") << "sparse 30 %"
                                 << "sdnq>flash>sdpa" << true;
    QTest::newRow("low memory") << "low memory"
                                << "dynamic" << false;
  }
  void a_preset_puts_its_chain_in_force() {
    QFETCH(const QString, name);
    QFETCH(const bool, sparse);
    QVERIFY(engine_->set("sparse_attention_budget", std::int64_t{55}).has_value());
    QVERIFY(engine_->set("sdnq_attention_use_hadamard", true).has_value());
    AttentionChoices choices;
    choices.all = "sage";
    QVERIFY(engine_->set_attention(choices).has_value());
    const auto preset = shelf_->find(name.toStdString());
    QVERIFY(preset.has_value());
    QVERIFY(!holds(*preset, production_settings(*engine_)));
    QVERIFY(apply_preset(*preset, *engine_).has_value());
    QTEST(QString::fromStdString(engine_->plan()->chain()), "chain");
    QCOMPARE(engine_->report().sparse.enabled, sparse);
    // What a preset does not name is at its default, what somebody asked of the dispatcher too.
    QCOMPARE(engine_->values().boolean("sdnq_attention_use_hadamard"), false);
    QVERIFY(!engine_->attention().all.has_value());
    QVERIFY(holds(*preset, production_settings(*engine_)));
    QVERIFY(engine_->set("sdnq_attention_smooth_k", !engine_->values().boolean("sdnq_attention_smooth_k")).has_value());
    QVERIFY(!holds(*preset, production_settings(*engine_)));
  }

  void an_own_preset_is_saved_replaced_renamed_and_deleted() {
    QVERIFY(engine_->set(keys::overrides, OptionList{"Sage attention"}).has_value());
    QVERIFY(shelf_->save(" mine, of ½ ", *engine_).has_value());
    QVERIFY(names_of(*shelf_) == (Names{"exact", "fast int8", "low memory", "sparse 30 %", "mine, of ½"}));
    QVERIFY(holds(*shelf_->find("MINE, OF ½"), production_settings(*engine_)));
    QVERIFY(engine_->set(keys::overrides, OptionList{}).has_value());
    QVERIFY(!holds(*shelf_->find("mine, of ½"), production_settings(*engine_)));
    QVERIFY(shelf_->save("mine, of ½", *engine_).has_value());
    QCOMPARE(shelf_->list().size(), std::size_t{5});
    QVERIFY(holds(*shelf_->find("mine, of ½"), production_settings(*engine_)));
    QVERIFY(shelf_->rename("mine, of ½", "yours").has_value());
    QVERIFY(names_of(*shelf_).back() == "yours");
    QVERIFY(shelf_->remove("yours").has_value());
    QVERIFY(names_of(*shelf_) == kShipped);
  }

  void wrong_names_are_answered_with_a_sentence() {
    QVERIFY(shelf_->save("mine", *engine_).has_value());
    const auto says = [](const auto& result, const char* words) {
      return !result.has_value() && result.error().find(words) != std::string::npos;
    };
    QVERIFY(says(shelf_->find("nothing like it"), "\"fast int8\", \"low memory\""));
    QVERIFY(says(shelf_->save("Exact", *engine_), "comes with the program"));
    QVERIFY(says(shelf_->save("  ", *engine_), "needs a name"));
    QVERIFY(says(shelf_->rename("exact", "other"), "stays as it is"));
    QVERIFY(says(shelf_->rename("mine", "exact"), "is taken"));
    QVERIFY(says(shelf_->rename("mine", " "), "needs a name"));
    QVERIFY(says(shelf_->remove("low memory"), "stays as it is"));
  }

  void a_preset_travels_as_a_file() {
    QVERIFY(engine_->set("sparse_attention_budget", std::int64_t{55}).has_value());
    QVERIFY(shelf_->save("mine", *engine_).has_value());
    QVERIFY(shelf_->write("mine", file("given.json")).has_value());
    QVERIFY(shelf_->write("exact", file("exact.json")).has_value());
    const PresetShelf other(resource_path("presets"), file("other"));
    QCOMPARE(*other.add(file("given.json")), std::string("mine"));
    QCOMPARE(*other.add(file("given.json")), std::string("mine 2"));
    QCOMPARE(*other.add(file("exact.json")), std::string("exact 2"));
    QVERIFY(holds(*other.find("mine 2"), production_settings(*engine_)));
    QVERIFY(write_atomically(file("foreign.json"), "{\"sdp_overrides\": []}").has_value());
    QVERIFY(other.add(file("foreign.json")).error().find("is no profile") != std::string::npos);
    QVERIFY(other.add(file("missing.json")).error().find("missing.json") != std::string::npos);
  }

  void a_damaged_file_is_listed_with_its_problem_and_cannot_be_applied() {
    std::filesystem::create_directories(file("own"));
    QVERIFY(write_atomically(file("own") / "broken.json", "{ not json").has_value());
    QVERIFY(write_atomically(file("own") / "wrong.json",
                             "{\"attnscope\": \"profile\", \"version\": 1, \"name\": \"wrong\", \"settings\": "
                             "{\"sparse_attention_budget\": \"much\"}}")
                .has_value());
    const auto broken = shelf_->find("broken");
    QVERIFY(broken.has_value() && broken->problem.find("not JSON") != std::string::npos);
    const OptionValues before = engine_->values();
    QVERIFY(!apply_preset(*broken, *engine_).has_value());
    const auto wrong = apply_preset(*shelf_->find("wrong"), *engine_);
    QVERIFY(wrong.error().find("preset \"wrong\": sparse_attention_budget") != std::string::npos);
    QCOMPARE(engine_->values().all().size(), before.all().size());
    for (const auto& [key, value] : before.all()) QVERIFY(same_value(value, *engine_->values().find(key)));
  }

  void the_command_line_starts_from_a_preset() {
    qputenv("ATTNSCOPE_PRESETS", folder_->filePath("own").toUtf8());
    QVERIFY(engine_->set(keys::overrides, OptionList{"Sage attention"}).has_value());
    QVERIFY(shelf_->save("mine", *engine_).has_value());
    const auto run = [](const QString& name) {
      return test::run_attnctl({"plan", "flux.1-dev", "--target", "rtx-3090", "--json", "--preset", name});
    };
    QVERIFY(run("fast int8").parsed()["chain"] == "sdnq>flash>sdpa");
    QVERIFY(run("mine").parsed()["chain"] == "sage>sdpa");
    const auto wrong = run("none such");
    QCOMPARE(wrong.code, 2);
    QVERIFY(wrong.err.contains("there is no preset \"none such\"; there are \"exact\""));
    qunsetenv("ATTNSCOPE_PRESETS");
  }

 private:
  [[nodiscard]] std::filesystem::path file(const char* name) const { return folder_->filePath(name).toStdString(); }

  std::unique_ptr<QTemporaryDir> folder_;
  std::unique_ptr<PresetShelf> shelf_;
  std::unique_ptr<Engine> engine_;
};

QTEST_GUILESS_MAIN(PresetsTest)
#include "presets_test.moc"
