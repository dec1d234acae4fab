// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/files/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <system_error>
#include <utility>

namespace attn::app {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kNewFileMode = 0666;  // less what the umask takes away
constexpr mode_t kPermissions = 07777;
constexpr mode_t kAnyWrite = 0222;

/// A file descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int number) noexcept : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  [[nodiscard]] bool open() const noexcept { return number_ >= 0; }
  [[nodiscard]] int get() const noexcept { return number_; }
  /// False when the file system says at the end that something was not written.
  bool close() noexcept { return ::close(std::exchange(number_, -1)) == 0; }

 private:
  int number_;
};

std::string why(int error) {
  switch (error) {
    case ENOENT:
      return "there is no such file or folder";
    case EACCES:
    case EPERM:
      return "permission is denied";
    case EROFS:
      return "the file system is read-only";
    case ENOSPC:
    case EDQUOT:
      return "there is no space left on the disk";
    case EFBIG:
      return "the file would be larger than this system allows";
    case ELOOP:
      return "its symbolic links lead in a circle";
    case ENAMETOOLONG:
      return "the name is too long";
    default:
      return std::generic_category().message(error);
  }
}

tl::unexpected<std::string> cannot(std::string_view what, const fs::path& path, int error) {
  return fail("cannot " + std::string(what) + " " + path.string() + ": " + why(error));
}

tl::unexpected<std::string> is_directory(std::string_view what, const fs::path& path) {
  return fail("cannot " + std::string(what) + " " + path.string() + ": it is a directory; a file is needed");
}

/// Where a path leads when every symbolic link is followed, the last one too, whether or not there is a file.
Expected<fs::path> followed(const fs::path& path) {
  constexpr int kMostLinks = 40;
  fs::path target = path;
  for (int links = 0; links < kMostLinks; ++links) {
    std::error_code error;
    const fs::path next = fs::read_symlink(target, error);
    if (error) return target;  // no link: a file, or nothing yet
    target = next.is_absolute() ? next : target.parent_path() / next;
  }
  return cannot("write", path, ELOOP);
}

/// What is at the place that is to be written; nullopt when nothing is.
Expected<std::optional<struct stat>> look_at(const fs::path& path) {
  struct stat state {};
  if (::stat(path.c_str(), &state) != 0) {
    if (errno == ENOENT) return std::nullopt;
    return cannot("write", path, errno);
  }
  if (S_ISDIR(state.st_mode)) return is_directory("write", path);
  if (!S_ISREG(state.st_mode)) return fail("cannot write " + path.string() + ": it is not a regular file");
  // The rename would replace a protected file without asking; and root is asked for nothing at all.
  if ((state.st_mode & kAnyWrite) == 0 || ::access(path.c_str(), W_OK) != 0) {
    return fail("cannot write " + path.string() + ": the file is read-only");
  }
  return state;
}

int write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno != EINTR) return errno;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

/// A file beside `target` that is gone again unless it took the target's place.
class TemporaryFile {
 public:
  explicit TemporaryFile(const fs::path& target) : target_(target) {}
  ~TemporaryFile() {
    if (exists_) ::unlink(name_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  /// Writes and flushes to the disk; the error speaks of the target, which is the name that a person knows.
  Expected<void> fill(std::string_view text, const std::optional<struct stat>& like) {
    Descriptor file(create(like ? like->st_mode & kPermissions : kNewFileMode));
    if (!file.open()) return cannot("write", target_, errno);
    // Only root may give a file away; for everyone else the owner is the writer, as with any editor.
    if (like) (void)!::fchown(file.get(), like->st_uid, like->st_gid);
    if (like && ::fchmod(file.get(), like->st_mode & kPermissions) != 0) return cannot("write", target_, errno);
    if (const int error = write_all(file.get(), text); error != 0) return cannot("write", target_, error);
    if (::fsync(file.get()) != 0 || !file.close()) return cannot("write", target_, errno);
    return {};
  }

  Expected<void> take_place() {
    if (::rename(name_.c_str(), target_.c_str()) != 0) {
      return errno == EISDIR ? is_directory("write", target_) : cannot("write", target_, errno);
    }
    exists_ = false;
    return {};
  }

 private:
  /// A descriptor below 0 and errno when there is no room for a file or it may not be made.
  int create(mode_t mode) {
    for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
      name_ = target_.parent_path() / ("." + target_.filename().string() + "." + std::to_string(::getpid()) + "-" +
                                       std::to_string(attempt) + ".tmp");
      const int file = ::open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
      exists_ = file >= 0;
      if (exists_ || errno != EEXIST) return file;
    }
    return -1;
  }

  static constexpr int kMostAttempts = 1000;
  fs::path target_;
  fs::path name_;
  bool exists_ = false;
};

/// Makes a rename survive a power cut. File systems that cannot flush a folder say EINVAL and need nothing.
Expected<void> flush_folder(const fs::path& file) {
  const fs::path folder = file.parent_path().empty() ? fs::path(".") : file.parent_path();
  const Descriptor handle(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (handle.open() && (::fsync(handle.get()) == 0 || errno == EINVAL)) return {};
  return cannot("flush the folder of", file, errno);
}

Expected<void> back_up(const fs::path& target, const struct stat& state) {
  // Somebody else may have put a longer file there since.
  constexpr std::size_t kRoom = std::size_t{64} << 20;
  const Expected<std::string> old = read_text(target, static_cast<std::size_t>(state.st_size) + kRoom);
  if (!old) return fail("no backup could be made, so nothing was written: " + old.error());
  const fs::path beside = target.string() + ".bak";
  TemporaryFile copy(beside);
  Expected<void> made = copy.fill(*old, state);
  if (made) made = copy.take_place();
  if (!made) return fail("no backup could be made, so nothing was written: " + made.error());
  return {};
}

}  // namespace

Expected<std::string> read_text(const fs::path& path, std::size_t limit) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.open()) return cannot("read", path, errno);
  struct stat state {};
  if (::fstat(file.get(), &state) != 0) return cannot("read", path, errno);
  if (S_ISDIR(state.st_mode)) return is_directory("read", path);
  constexpr std::size_t kChunk = std::size_t{1} << 16;
  std::string text;
  if (S_ISREG(state.st_mode)) text.reserve(std::min(static_cast<std::size_t>(state.st_size), limit) + kChunk);
  while (true) {
    const std::size_t filled = text.size();
    text.resize(filled + kChunk);
    const ssize_t got = ::read(file.get(), text.data() + filled, kChunk);
    if (got < 0 && errno != EINTR) return cannot("read", path, errno);
    text.resize(filled + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (text.size() > limit) {
      return fail("cannot read " + path.string() + ": it is larger than " + std::to_string(limit) + " bytes");
    }
    if (got == 0) return text;
  }
}

Expected<void> write_atomically(const fs::path& path, std::string_view text, Backup backup) {
  if (!path.has_filename()) return is_directory("write", path);
  const Expected<fs::path> target = followed(path);
  if (!target) return fail(target.error());
  const auto present = look_at(*target);
  if (!present) return fail(present.error());
  TemporaryFile fresh(*target);
  if (auto filled = fresh.fill(text, *present); !filled) return filled;
  if (backup == Backup::keep && *present) {
    if (auto kept = back_up(*target, **present); !kept) return kept;
  }
  if (auto renamed = fresh.take_place(); !renamed) return renamed;
  return flush_folder(*target);
}

}  // namespace attn::app
