// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/files/atomic_file.h"

#include "support/oracle.h"

#include <QTemporaryDir>
#include <QtTest>

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

using attn::app::Backup;
using attn::app::read_text;
using attn::app::write_atomically;
using attn::test::q;

namespace {

/// How many more renames this process makes before it is killed; below 0: it lives.
int renames_left = -1;

}  // namespace

/// Stands in for the library's own in this program, so that a process can be killed just before it renames.
extern "C" int rename(const char* from, const char* to) noexcept {
  if (renames_left >= 0 && renames_left-- == 0) ::raise(SIGKILL);
  return static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

namespace {

namespace fs = std::filesystem;

void put(const fs::path& path, std::string_view text) { std::ofstream(path, std::ios::binary) << text; }

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

mode_t mode_of(const fs::path& path) {
  struct stat state {};
  return ::stat(path.c_str(), &state) == 0 ? state.st_mode & 07777 : 0;
}

/// No file may grow beyond `bytes` while this lives: writing fails half way, as on a full disk, for root too.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limited{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limited);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

/// A file system of a few pages, where this user may mount one.
class SmallDisk {
 public:
  SmallDisk(const fs::path& at, const char* options) : at_(at) {
    fs::create_directory(at);
    mounted_ = ::mount("tmpfs", at.c_str(), "tmpfs", 0, options) == 0;
  }
  ~SmallDisk() {
    if (mounted_) ::umount(at_.c_str());
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  [[nodiscard]] bool mounted() const { return mounted_; }
  void make_read_only() const { ::mount("tmpfs", at_.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, nullptr); }

 private:
  fs::path at_;
  bool mounted_ = false;
};

}  // namespace

class FilesTest : public QObject {
  Q_OBJECT

 private slots:
  void init();
  void what_is_written_is_read_back();
  void a_new_file_follows_the_umask_and_an_old_ones_mode_stays();
  void the_backup_holds_the_file_before();
  void a_symbolic_link_is_followed();
  void a_directory_is_refused();
  void a_read_only_file_is_refused();
  void a_folder_that_takes_no_file_is_refused();
  void something_that_is_no_file_is_refused();
  void a_write_that_fails_half_way_leaves_the_old_file();
  void a_backup_that_fails_leaves_the_old_file();
  void a_full_disk_is_a_sentence();
  void a_read_only_file_system_is_a_sentence();
  void a_left_over_temporary_file_is_no_obstacle();
  void readers_see_the_old_or_the_new_text_and_nothing_between();
  void a_kill_before_the_rename_leaves_the_old_file_data();
  void a_kill_before_the_rename_leaves_the_old_file();
  void writers_at_once_leave_one_whole_text();
  void unreadable_files_are_sentences();
  void a_file_beyond_the_limit_is_refused();

 private:
  std::unique_ptr<QTemporaryDir> temporary_;
  fs::path dir_;
};

void FilesTest::init() {
  temporary_ = std::make_unique<QTemporaryDir>();
  dir_ = temporary_->path().toStdString();
}

void FilesTest::what_is_written_is_read_back() {
  const std::string large(5'000'000, 'x');
  for (const std::string& text : {std::string(), std::string("größe\r\n\0x", 11), large}) {
    QVERIFY(write_atomically(dir_ / "a", text));
    QVERIFY(read_text(dir_ / "a").value() == text);
  }
  QVERIFY((names_in(dir_) == std::vector<std::string>{"a"}));
}

void FilesTest::a_new_file_follows_the_umask_and_an_old_ones_mode_stays() {
  const mode_t before = ::umask(027);
  QVERIFY(write_atomically(dir_ / "new", "1"));
  QCOMPARE(mode_of(dir_ / "new"), mode_t{0640});
  for (const mode_t mode : {0600, 0666, 0755}) {
    ::chmod((dir_ / "new").c_str(), mode);
    QVERIFY(write_atomically(dir_ / "new", "2", Backup::keep));
    QCOMPARE(mode_of(dir_ / "new"), mode);
    QCOMPARE(mode_of(dir_ / "new.bak"), mode);
  }
  ::umask(before);
}

void FilesTest::the_backup_holds_the_file_before() {
  const fs::path file = dir_ / "config.json";
  QVERIFY(write_atomically(file, "first", Backup::keep));
  QVERIFY(!fs::exists(dir_ / "config.json.bak"));  // there was nothing to keep
  QVERIFY(write_atomically(file, "second", Backup::keep));
  QCOMPARE(q(read_text(dir_ / "config.json.bak").value()), q("first"));
  QVERIFY(write_atomically(file, "third", Backup::keep));
  QVERIFY(write_atomically(file, "fourth"));
  QCOMPARE(q(read_text(dir_ / "config.json.bak").value()), q("second"));
  QCOMPARE(q(read_text(file).value()), q("fourth"));
  QCOMPARE(names_in(dir_).size(), std::size_t{2});
}

void FilesTest::a_symbolic_link_is_followed() {
  fs::create_directory(dir_ / "there");
  put(dir_ / "there/real.json", "old");
  fs::create_symlink("there/real.json", dir_ / "second");
  fs::create_symlink("second", dir_ / "link.json");
  QVERIFY(write_atomically(dir_ / "link.json", "new", Backup::keep));
  QVERIFY(fs::is_symlink(dir_ / "link.json") && fs::is_symlink(dir_ / "second"));
  QCOMPARE(q(read_text(dir_ / "there/real.json").value()), q("new"));
  QCOMPARE(q(read_text(dir_ / "there/real.json.bak").value()), q("old"));
  // A link to a file that is not there yet.
  fs::create_symlink("there/later.json", dir_ / "later.json");
  QVERIFY(write_atomically(dir_ / "later.json", "made"));
  QVERIFY(fs::is_symlink(dir_ / "later.json"));
  QCOMPARE(q(read_text(dir_ / "there/later.json").value()), q("made"));
  fs::create_symlink("round", dir_ / "round");
  QVERIFY(write_atomically(dir_ / "round", "x").error().ends_with("its symbolic links lead in a circle"));
}

void FilesTest::a_directory_is_refused() {
  fs::create_directory(dir_ / "folder");
  const std::string wanted = "cannot write " + (dir_ / "folder").string() + ": it is a directory; a file is needed";
  QCOMPARE(q(write_atomically(dir_ / "folder", "x", Backup::keep).error()), q(wanted));
  QVERIFY(
      write_atomically((dir_ / "folder").string() + "/", "x").error().ends_with("it is a directory; a file is needed"));
  QVERIFY(read_text(dir_ / "folder").error().ends_with("it is a directory; a file is needed"));
  QVERIFY((names_in(dir_) == std::vector<std::string>{"folder"}));
  QVERIFY(names_in(dir_ / "folder").empty());
}

void FilesTest::a_read_only_file_is_refused() {
  put(dir_ / "a", "old");
  ::chmod((dir_ / "a").c_str(), 0444);
  QCOMPARE(q(write_atomically(dir_ / "a", "new", Backup::keep).error()),
           q("cannot write " + (dir_ / "a").string() + ": the file is read-only"));
  QCOMPARE(q(read_text(dir_ / "a").value()), q("old"));
  QVERIFY((names_in(dir_) == std::vector<std::string>{"a"}));
}

void FilesTest::a_folder_that_takes_no_file_is_refused() {
  QVERIFY(write_atomically(dir_ / "none/a", "x").error().ends_with("there is no such file or folder"));
  put(dir_ / "file", "x");
  QVERIFY(!write_atomically(dir_ / "file/a", "x"));
  // The kernel's own folders take no file from anybody.
  const auto refused = write_atomically("/proc/attnscope.json", "x");
  QVERIFY(!refused);
  QVERIFY2(refused.error().starts_with("cannot write /proc/attnscope.json: "), refused.error().c_str());
  if (::geteuid() == 0) return;  // root may write into every folder of its own
  fs::create_directory(dir_ / "locked");
  put(dir_ / "locked/a", "old");
  ::chmod((dir_ / "locked").c_str(), 0555);
  QVERIFY(write_atomically(dir_ / "locked/a", "x", Backup::keep).error().ends_with("permission is denied"));
  QVERIFY((names_in(dir_ / "locked") == std::vector<std::string>{"a"}));
  QCOMPARE(q(read_text(dir_ / "locked/a").value()), q("old"));
  ::chmod((dir_ / "locked").c_str(), 0755);
}

void FilesTest::something_that_is_no_file_is_refused() {
  QVERIFY(write_atomically("/dev/null", "x").error().ends_with("it is not a regular file"));
  fs::create_symlink("/dev/full", dir_ / "full");
  QVERIFY(write_atomically(dir_ / "full", "x").error().ends_with("it is not a regular file"));
  QVERIFY(!write_atomically("", "x"));
  QVERIFY(!write_atomically(dir_ / std::string(300, 'n'), "x"));
}

void FilesTest::a_write_that_fails_half_way_leaves_the_old_file() {
  const fs::path file = dir_ / "config.json";
  put(file, "old");
  put(dir_ / "config.json.bak", "older");
  {
    const FileSizeLimit limit(100'000);
    const auto result = write_atomically(file, std::string(300'000, 'x'), Backup::keep);
    QVERIFY(!result);
    QCOMPARE(q(result.error()),
             q("cannot write " + file.string() + ": the file would be larger than this system allows"));
    QVERIFY(write_atomically(dir_ / "fits", std::string(90'000, 'x')));
  }
  QCOMPARE(q(read_text(file).value()), q("old"));
  QCOMPARE(q(read_text(dir_ / "config.json.bak").value()), q("older"));
  QVERIFY((names_in(dir_) == std::vector<std::string>{"config.json", "config.json.bak", "fits"}));
}

void FilesTest::a_backup_that_fails_leaves_the_old_file() {
  const fs::path file = dir_ / "config.json";
  const std::string old(200'000, 'o');
  put(file, old);
  {
    const FileSizeLimit limit(100'000);  // the new text fits, the old one's copy does not
    const auto result = write_atomically(file, "new", Backup::keep);
    QVERIFY(!result);
    QVERIFY2(result.error().starts_with("no backup could be made, so nothing was written: "), result.error().c_str());
  }
  QVERIFY(read_text(file).value() == old);
  QVERIFY((names_in(dir_) == std::vector<std::string>{"config.json"}));
  fs::create_directory(dir_ / "config.json.bak");
  QVERIFY(write_atomically(file, "new", Backup::keep).error().ends_with("it is a directory; a file is needed"));
  QVERIFY(read_text(file).value() == old);
  QCOMPARE(names_in(dir_).size(), std::size_t{2});
}

void FilesTest::a_full_disk_is_a_sentence() {
  const SmallDisk disk(dir_ / "disk", "size=64k");
  if (!disk.mounted()) QSKIP("this user may not mount a small file system; the size limit above stands for it");
  const fs::path file = dir_ / "disk/config.json";
  put(file, std::string(20'000, 'o'));
  const auto result = write_atomically(file, std::string(300'000, 'x'), Backup::keep);
  QCOMPARE(q(result.error()), q("cannot write " + file.string() + ": there is no space left on the disk"));
  // Room for the new text, none for the backup.
  const auto backup = write_atomically(file, std::string(40'000, 'x'), Backup::keep);
  QVERIFY(backup.error().starts_with("no backup could be made, so nothing was written: "));
  QVERIFY(read_text(file).value() == std::string(20'000, 'o'));
  QVERIFY((names_in(dir_ / "disk") == std::vector<std::string>{"config.json"}));
}

void FilesTest::a_read_only_file_system_is_a_sentence() {
  const SmallDisk disk(dir_ / "disk", "size=64k");
  if (!disk.mounted()) QSKIP("this user may not mount a file system");
  const fs::path file = dir_ / "disk/config.json";
  put(file, "old");
  disk.make_read_only();
  QVERIFY(!write_atomically(file, "new", Backup::keep));
  QCOMPARE(q(write_atomically(dir_ / "disk/new.json", "new").error()),
           q("cannot write " + (dir_ / "disk/new.json").string() + ": the file system is read-only"));
  QCOMPARE(q(read_text(file).value()), q("old"));
  QVERIFY((names_in(dir_ / "disk") == std::vector<std::string>{"config.json"}));
}

void FilesTest::a_left_over_temporary_file_is_no_obstacle() {
  const std::string left = ".a." + std::to_string(::getpid()) + "-0.tmp";
  put(dir_ / left, "from a crash");
  QVERIFY(write_atomically(dir_ / "a", "text"));
  QVERIFY((names_in(dir_) == std::vector<std::string>{left, "a"}));
  QCOMPARE(q(read_text(dir_ / left).value()), q("from a crash"));
}

void FilesTest::readers_see_the_old_or_the_new_text_and_nothing_between() {
  const std::string one(100'000, '1');
  const std::string two(50'000, '2');
  const fs::path file = dir_ / "a";
  QVERIFY(write_atomically(file, one));
  std::atomic<bool> done{false};
  bool whole = true;
  std::thread reader([&] {
    while (!done) {
      const auto text = read_text(file);
      whole = whole && text && (*text == one || *text == two);
    }
  });
  for (int i = 0; i < 50; ++i) {
    if (!write_atomically(file, i % 2 == 0 ? two : one)) qFatal("a write failed");
  }
  done = true;
  reader.join();
  QVERIFY(whole);
}

void FilesTest::a_kill_before_the_rename_leaves_the_old_file_data() {
  QTest::addColumn<int>("renames");
  QTest::addColumn<bool>("backup");
  QTest::newRow("no backup") << 0 << false;
  QTest::newRow("before the backup") << 0 << true;
  QTest::newRow("between backup and file") << 1 << true;
}

void FilesTest::a_kill_before_the_rename_leaves_the_old_file() {
  QFETCH(int, renames);
  QFETCH(bool, backup);
  const fs::path file = dir_ / "config.json";
  put(file, "old");
  put(dir_ / "config.json.bak", "older");
  const pid_t child = ::fork();
  if (child == 0) {
    renames_left = renames;
    (void)write_atomically(file, "new", backup ? Backup::keep : Backup::none);
    ::_exit(0);  // not reached when the kill works
  }
  int status = 0;
  QCOMPARE(::waitpid(child, &status, 0), child);
  QVERIFY(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  QCOMPARE(q(read_text(file).value()), q("old"));
  QCOMPARE(q(read_text(dir_ / "config.json.bak").value()), q(renames == 1 ? "old" : "older"));
  // Whoever comes next is not hindered by what the killed one left.
  QVERIFY(write_atomically(file, "next", Backup::keep));
  QCOMPARE(q(read_text(file).value()), q("next"));
  QCOMPARE(q(read_text(dir_ / "config.json.bak").value()), q("old"));
}

void FilesTest::writers_at_once_leave_one_whole_text() {
  constexpr int kProcesses = 3;
  constexpr int kThreads = 2;
  constexpr int kRounds = 40;
  const fs::path file = dir_ / "config.json";
  const auto text_of = [](int writer) {
    return std::string(40'000 + static_cast<std::size_t>(writer) * 1000, static_cast<char>('a' + writer));
  };
  const auto is_whole = [&](const std::string& text) {
    for (int writer = 0; writer <= kProcesses * kThreads; ++writer) {
      if (text == text_of(writer)) return true;
    }
    return false;
  };
  put(file, text_of(kProcesses * kThreads));
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    const pid_t child = ::fork();
    if (child != 0) {
      children.push_back(child);
      continue;
    }
    std::atomic<bool> failed{false};
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, writer = process * kThreads + thread] {
        for (int i = 0; i < kRounds; ++i) {
          if (!write_atomically(file, text_of(writer), Backup::keep)) failed = true;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    ::_exit(failed ? 1 : 0);
  }
  bool whole = true;
  std::size_t ended = 0;
  while (ended < children.size()) {
    const auto text = read_text(file);
    whole = whole && text && is_whole(*text);
    int status = 0;
    if (::waitpid(-1, &status, WNOHANG) > 0) {
      ++ended;
      QCOMPARE(status, 0);
    }
  }
  QVERIFY(whole);
  QVERIFY(is_whole(read_text(file).value()));
  QVERIFY(is_whole(read_text(dir_ / "config.json.bak").value()));
  QVERIFY((names_in(dir_) == std::vector<std::string>{"config.json", "config.json.bak"}));
}

void FilesTest::unreadable_files_are_sentences() {
  QCOMPARE(q(read_text(dir_ / "absent").error()),
           q("cannot read " + (dir_ / "absent").string() + ": there is no such file or folder"));
  // A regular file whose first byte nobody may read: address 0 of this program.
  const auto memory = read_text("/proc/self/mem");
  QVERIFY(!memory);
  QVERIFY2(memory.error().starts_with("cannot read /proc/self/mem: "), memory.error().c_str());
  if (::geteuid() == 0) return;  // root reads everything
  put(dir_ / "locked", "x");
  ::chmod((dir_ / "locked").c_str(), 0);
  QVERIFY(read_text(dir_ / "locked").error().ends_with("permission is denied"));
}

void FilesTest::a_file_beyond_the_limit_is_refused() {
  put(dir_ / "a", std::string(1000, 'x'));
  QCOMPARE(read_text(dir_ / "a", 1000).value().size(), std::size_t{1000});
  QCOMPARE(q(read_text(dir_ / "a", 999).error()),
           q("cannot read " + (dir_ / "a").string() + ": it is larger than 999 bytes"));
  QVERIFY(read_text("/dev/zero", 1 << 20).error().ends_with("it is larger than 1048576 bytes"));
}

QTEST_GUILESS_MAIN(FilesTest)
#include "files_test.moc"
