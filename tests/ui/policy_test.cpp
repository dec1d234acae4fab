// SPDX-License-Identifier: GPL-3.0-or-later
// attention_backend in the real window: what is asked, what it comes to, and who serves then.
#include "bench_window.h"
#include "printed.h"
#include "ui/control_panel/change_mark.h"
#include "ui/control_panel/section.h"
#include "ui/policy/outcome_text.h"
#include "ui/route_table/route_panel.h"

#include <QComboBox>
#include <QLineEdit>
#include <QPushButton>
#include <QTableView>

using namespace attn;
using namespace attn::ui;
using attn::test::BenchWindow;
using attn::test::printed;

namespace {

/// Opens the section and chooses as a person does: the list's item by the keyboard.
void choose(const BenchWindow& b, const char* combo, const QString& value) {
  for (Section* section : b.window->findChildren<Section*>()) {
    if (section->title() == "Attention Dispatcher") section->set_open(true);
  }
  auto* box = b.find<QComboBox>(combo);
  int at = -1;
  for (int i = 0; i < box->count(); ++i) {
    const QVariant data = box->itemData(i);
    if ((data.isValid() ? data.toString() : box->itemText(i)) == value) at = i;
  }
  if (at < 0) qFatal("%s has no %s", combo, qPrintable(value));
  box->setFocus();
  while (box->currentIndex() != at) {
    QTest::keyClick(box, box->currentIndex() < at ? Qt::Key_Down : Qt::Key_Up);
  }
}

}  // namespace

class PolicyTest : public QObject {
  Q_OBJECT

 private slots:
  void init() { theme_ = std::make_unique<Theme>(); }
  void cleanup() { theme_.reset(); }

  void every_alias_is_offered_with_what_it_comes_to() {
    const BenchWindow b(*theme_);
    const PolicyState& state = b.bench->services().policy.state();
    QTRY_VERIFY(!state.for_all.empty());
    auto* box = b.find<QComboBox>("policy_backend_all");
    QCOMPARE(box->count(), static_cast<int>(attention_aliases().size()) + 1);
    QCOMPARE(box->itemData(0).toString(), QString("auto"));
    for (std::size_t i = 0; i < attention_aliases().size(); ++i) {
      const AttentionAlias& alias = attention_aliases()[i];
      const int at = static_cast<int>(i) + 1;
      QCOMPARE(box->itemData(at).toString().toStdString(), alias.alias);
      const attn::Selection selection = select_attention(alias.alias, b.bench->engine().plan()->target(), false);
      QCOMPARE(box->itemText(at).contains(QChar(0x2715)), selection.state == SelectionState::rejected);
      QCOMPARE(box->itemData(at, Qt::ToolTipRole).toString().toStdString(), selection.reason);
    }
  }

  void a_choice_is_engaged_and_its_calls_are_shown_as_bypassed() {
    const BenchWindow b(*theme_);
    b.choose_target("h100");
    QTRY_COMPARE(b.bench->engine().plan()->target().name, std::string("h100"));
    b.click(b.box("sdp_overrides/SDNQ attention"));
    choose(b, "policy_backend_all", "flash3");
    QTRY_VERIFY2(b.find<QLabel>("policy_outcome_transformer")->text().startsWith("flash3: supported on NVIDIA H100"),
                 qPrintable(b.find<QLabel>("policy_outcome_transformer")->text()));
    const QString detail = b.find<QLabel>("policy_detail_transformer")->text();
    QVERIFY2(detail.contains("_flash_3_hub, bypassing the router") && detail.contains("explicit for all"),
             qPrintable(detail));
    QCOMPARE(*b.bench->engine().attention().all, std::string("flash3"));
    b.click(b.find<QPushButton>("run"));
    QTRY_VERIFY(b.window->routes().model().rowCount() > 0);
    QTRY_VERIFY(!b.bench->jobs().running());
    const QStringList rows = printed(b.window->routes().model(), {RouteModel::executed, RouteModel::role});
    QVERIFY2(!rows.filter("_flash_3_hub").filter("bypassed").filter("transformer").isEmpty(),
             qPrintable(rows.join("\n")));
    QVERIFY(rows.filter("vae").filter("bypassed").isEmpty());
  }

  void a_rejected_choice_says_why_and_no_job_starts() {
    const BenchWindow b(*theme_);
    choose(b, "policy_backend_all", "flash3");
    auto* outcome = b.find<QLabel>("policy_outcome_transformer");
    QTRY_COMPARE(outcome->text(), QString("flash3: rejected on NVIDIA RTX 3090"));
    QVERIFY(b.find<QLabel>("policy_detail_transformer")->text().contains("Strict: a job does not start"));
    b.click(b.find<QPushButton>("run"));
    QTRY_VERIFY2(b.find<QLabel>("run_state")->text().contains("flash3 needs compute capability"),
                 qPrintable(b.find<QLabel>("run_state")->text()));
    QTRY_VERIFY(!b.bench->jobs().running());
    // Lenient for this role: the router serves.
    choose(b, "policy_strict_transformer", "lenient");
    QTRY_VERIFY(b.find<QLabel>("policy_detail_transformer")->text().contains("the router serves instead"));
    b.click(b.find<QPushButton>("run"));
    QTRY_VERIFY(b.find<QLabel>("run_state")->text().startsWith("Finished"));
  }

  void auto_takes_the_best_exact_backend_only_with_a_speed_profile() {
    const BenchWindow b(*theme_);
    b.choose_target("rtx-4090");
    auto* outcome = b.find<QLabel>("policy_outcome_transformer");
    QTRY_VERIFY(outcome->text().startsWith("auto: default attention"));
    choose(b, "policy_backend_all", "auto");
    b.click(b.find<QCheckBox>("policy_speed"));
    QTRY_VERIFY2(outcome->text().startsWith("auto: supported on NVIDIA RTX 4090"), qPrintable(outcome->text()));
    QVERIFY(b.find<QLabel>("policy_detail_transformer")->text().contains("_native_cudnn"));
  }

  void a_role_has_a_choice_and_a_strictness_of_its_own() {
    const BenchWindow b(*theme_);
    b.choose_target("rtx-4090");
    choose(b, "policy_backend_vae", "sage");
    auto* vae = b.find<QLabel>("policy_outcome_vae");
    QTRY_VERIFY2(vae->text().startsWith("sage: rejected"), qPrintable(vae->text()));
    QVERIFY(b.find<QLabel>("policy_detail_vae")->text().contains("explicit per role"));
    choose(b, "policy_backend_vae", "cudnn");
    QTRY_VERIFY2(vae->text().startsWith("cudnn: supported"), qPrintable(vae->text()));
    choose(b, "policy_strict_all", "strict");
    for (const Role role : kChoiceRoles) QVERIFY(b.bench->engine().attention().strict.at(role));
    choose(b, "policy_strict_te", "lenient");
    QVERIFY(!b.bench->engine().attention().strict.at(Role::te));
    QTRY_COMPARE(b.find<QComboBox>("policy_strict_all")->currentIndex(), -1);
  }

  void a_change_while_a_job_runs_waits_for_the_next_one_and_can_be_reverted() {
    const BenchWindow b(*theme_);
    b.start_latched();
    const PolicyState& state = b.bench->services().policy.state();
    QTRY_VERIFY(state.job_running);
    choose(b, "policy_backend_all", "sage");
    auto* pending = b.find<QLabel>("policy_pending");
    auto* edited = b.find<ChangeMark>("policy_edited_all");
    QTRY_VERIFY(pending->isVisible() && edited->is_on());
    QVERIFY(pending->text().contains("next job"));
    b.click(edited);
    QTRY_VERIFY(!pending->isVisible() && !edited->is_on());
    QVERIFY(!b.bench->engine().attention().all);
    choose(b, "policy_backend_all", "cudnn");
    QTRY_VERIFY(pending->isVisible());
    b.latch->release();
    QTRY_VERIFY(!pending->isVisible());
    auto* changed = b.find<ChangeMark>("policy_changed_all");
    QTRY_VERIFY(changed->is_on() && !edited->is_on());
    b.click(changed);
    QTRY_VERIFY(!b.bench->engine().attention().all && !changed->is_on());
  }

  void a_search_finds_the_rows_by_alias() {
    const BenchWindow b(*theme_);
    QTRY_VERIFY(!b.bench->services().policy.state().for_all.empty());
    QTest::keyClick(b.window.get(), Qt::Key_F, Qt::ControlModifier);
    auto* search = b.find<QLineEdit>("option_search");
    QTest::keyClicks(search, "flash3");
    QTRY_VERIFY(b.find<QComboBox>("policy_backend_all")->isVisible());
    QVERIFY(!b.find<QWidget>("sparse_attention_budget")->isVisible());
    search->clear();
    QTest::keyClicks(search, "hadamard");
    QTRY_VERIFY(!b.find<QComboBox>("policy_backend_all")->isVisible());
  }

 private:
  std::unique_ptr<Theme> theme_;
};

QTEST_MAIN(PolicyTest)
#include "policy_test.moc"
