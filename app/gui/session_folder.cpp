// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/session_folder.h"

#include "app/jobs/files/atomic_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <utility>

namespace attn::app {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "session-";
constexpr std::string_view kLock = ".lock";
constexpr std::string_view kText = ".json";
constexpr std::size_t kMostLeft = 5;  ///< older ones are removed: nobody asks for them any more

fs::path with(const fs::path& stem, std::string_view ending) { return stem.string() + std::string(ending); }

/// A file that this process alone holds; -1 when somebody else does, or when there are no locks here.
int lock_file(const fs::path& path, int flags) {
  const int handle = ::open(path.c_str(), flags | O_RDWR | O_CLOEXEC, 0600);
  if (handle < 0) return -1;
  if (::flock(handle, LOCK_EX | LOCK_NB) == 0) return handle;
  ::close(handle);
  return -1;
}

std::chrono::system_clock::time_point changed_at(const fs::path& path) {
  struct stat state {};
  if (::stat(path.c_str(), &state) != 0) return {};
  const auto since = std::chrono::seconds(state.st_mtim.tv_sec) + std::chrono::nanoseconds(state.st_mtim.tv_nsec);
  return std::chrono::system_clock::time_point(std::chrono::duration_cast<std::chrono::system_clock::duration>(since));
}

void remove_quietly(const fs::path& path) noexcept {
  std::error_code ignored;
  fs::remove(path, ignored);
}

}  // namespace

fs::path own_state_folder() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? fs::path() : fs::path(value);
  };
  if (const fs::path own = variable("ATTNSCOPE_STATE"); !own.empty()) return own;
  if (const fs::path state = variable("XDG_STATE_HOME"); state.is_absolute()) return state / "attnscope";
  return variable("HOME") / ".local" / "state" / "attnscope";
}

SessionFolder::SessionFolder(fs::path folder, fs::path stem, int handle)
    : folder_(std::move(folder)), stem_(std::move(stem)), handle_(handle) {}

SessionFolder::SessionFolder(SessionFolder&& other) noexcept
    : folder_(std::move(other.folder_)),
      stem_(std::move(other.stem_)),
      handle_(std::exchange(other.handle_, -1)),
      left_(std::exchange(other.left_, {})) {}

SessionFolder::~SessionFolder() {
  for (const Left& left : left_) ::close(left.handle);
  if (handle_ < 0) return;
  std::error_code ignored;
  if (!fs::exists(with(stem_, kText), ignored)) remove_quietly(with(stem_, kLock));
  ::close(handle_);
}

Expected<SessionFolder> SessionFolder::open(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return fail("cannot make the folder " + folder.string() + ": " + error.message());
  // The lock is taken under another name first: at no moment is there a lock of a living process that nobody holds.
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto tick = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
  const fs::path stem = folder / (std::string(kPrefix) + std::to_string(tick) + "-" + std::to_string(::getpid()));
  const fs::path fresh = with(stem, ".new");
  const int handle = lock_file(fresh, O_CREAT | O_EXCL);
  if (handle < 0) return fail("cannot lock a file in " + folder.string() + ": workspaces are not kept between starts");
  if (::rename(fresh.c_str(), with(stem, kLock).c_str()) != 0) {
    const std::string why = std::generic_category().message(errno);
    remove_quietly(fresh);
    ::close(handle);
    return fail("cannot keep workspaces in " + folder.string() + ": " + why);
  }
  SessionFolder made(folder, stem, handle);
  made.find_left();
  return made;
}

void SessionFolder::find_left() {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder_, error)) {
    const fs::path lock = entry.path();
    if (lock.extension() != kLock || !lock.filename().string().starts_with(kPrefix)) continue;
    const int handle = lock_file(lock, 0);
    if (handle < 0) continue;  // it lives, or another window offers it
    fs::path text = lock;
    text.replace_extension(kText);
    Expected<std::string> kept = read_text(text);
    if (!kept) {
      remove_quietly(lock);
      ::close(handle);
      continue;
    }
    left_.push_back({text, lock, *std::move(kept), changed_at(text), handle});
  }
  std::sort(left_.begin(), left_.end(), [](const Left& a, const Left& b) { return a.at > b.at; });
  while (left_.size() > kMostLeft) {
    std::rotate(left_.begin(), left_.end() - 1, left_.end());
    drop_left();
  }
}

void SessionFolder::drop_left() {
  if (left_.empty()) return;
  remove_quietly(left_.front().file);
  remove_quietly(left_.front().lock);
  ::close(left_.front().handle);
  left_.erase(left_.begin());
}

Expected<void> SessionFolder::keep(std::string_view text) { return write_atomically(with(stem_, kText), text); }

std::string SessionFolder::last() const { return read_text(folder_ / "last.json").value_or(std::string()); }

Expected<void> SessionFolder::end(std::string_view text) {
  Expected<void> done = write_atomically(folder_ / "last.json", text);
  // Kept as left behind where it could not be written: better offered once too often than lost.
  if (done) remove_place();
  return done;
}

void SessionFolder::remove_place() noexcept {
  remove_quietly(with(stem_, kText));
  remove_quietly(with(stem_, kLock));
  ::close(std::exchange(handle_, -1));
}

}  // namespace attn::app
