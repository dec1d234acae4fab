// SPDX-License-Identifier: GPL-3.0-or-later
// Watches the shared memory of a block that runs on the host: what the hardware would let pass or punish silently.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace attn::cuda {

/// What went wrong or slowly while blocks ran.
struct AuditReport {
  std::int64_t races = 0;             ///< two threads at one word without a barrier between, one of them writing
  std::int64_t unset_reads = 0;       ///< words read that nothing has written
  std::int64_t out_of_bounds = 0;     ///< accesses outside the block's memory, or not aligned to their size
  std::int64_t matrix_conflicts = 0;  ///< passes that ldmatrix takes beyond one per matrix
  std::int64_t copy_conflicts = 0;    ///< the same for asynchronous copies, per 8 lanes
  std::int64_t plain_conflicts = 0;   ///< the same for loads and stores
  std::int64_t accesses = 0;          ///< words looked at, so that a test sees that something was
  std::string first;                  ///< the first finding but conflicts, as a sentence
};

/// The words of one block's shared memory: who touched each since the last barrier.
class SharedAudit {
 public:
  enum class Access : std::uint8_t { read, write, add, copy };

  SharedAudit(std::size_t bytes, AuditReport& report) : words_(bytes / 4), report_(report) {}

  /// False when the access lies outside and must not be made.
  bool touch(Access access, int thread, std::uint32_t at, std::uint32_t bytes) {
    if (at % bytes != 0 || at + bytes > words_.size() * 4) {
      ++report_.out_of_bounds;
      say("an access outside the block's shared memory", thread, at);
      return false;
    }
    for (std::uint32_t word = at / 4; word < (at + bytes) / 4; ++word) touch_word(access, thread, word);
    return true;
  }
  /// A copy arrived: from now on its own thread may read the words, and others behind a barrier.
  void arrived(int thread, std::uint32_t at, std::uint32_t bytes) {
    for (std::uint32_t word = at / 4; word < (at + bytes) / 4; ++word) {
      words_[word].in_flight = false;
      words_[word].writer = thread;
      words_[word].written_in = epoch_;
    }
  }
  void barrier() { ++epoch_; }

  /// Passes beyond the first that lanes' accesses of `bytes` each take: 4-byte words of one bank, not the same word.
  [[nodiscard]] static std::int64_t extra_passes(const std::vector<std::uint32_t>& starts, std::uint32_t bytes) {
    std::int64_t most = 1;
    for (std::uint32_t bank = 0; bank < kBanks; ++bank) {
      std::vector<std::uint32_t> words;
      for (const std::uint32_t start : starts) {
        for (std::uint32_t word = start / 4; word < (start + bytes) / 4; ++word) {
          if (word % kBanks != bank) continue;
          bool known = false;
          for (const std::uint32_t other : words) known = known || other == word;
          if (!known) words.push_back(word);
        }
      }
      if (static_cast<std::int64_t>(words.size()) > most) most = static_cast<std::int64_t>(words.size());
    }
    return most - 1;
  }

  [[nodiscard]] AuditReport& report() noexcept { return report_; }

 private:
  static constexpr std::uint32_t kBanks = 32;
  static constexpr int kNobody = -1;
  static constexpr int kSeveral = -2;
  static constexpr int kAdders = -3;  ///< atomic additions: they do not disturb each other

  struct Word {
    int writer = kNobody;
    int reader = kNobody;
    std::int64_t written_in = -1;
    std::int64_t read_in = -1;
    bool set = false;
    bool in_flight = false;
  };

  void touch_word(Access access, int thread, std::uint32_t at) {
    Word& word = words_[at];
    ++report_.accesses;
    const int self = access == Access::add ? kAdders : thread;
    const bool written_now = word.written_in == epoch_ && word.writer != self;
    const bool read_now = word.read_in == epoch_ && word.reader != thread;
    if (word.in_flight || written_now || (access != Access::read && read_now)) {
      ++report_.races;
      say(word.in_flight ? "a word is touched while a copy to it is on its way"
                         : "two threads meet at one word without a barrier",
          thread, at * 4);
    }
    if ((access == Access::read || access == Access::add) && !word.set) {
      ++report_.unset_reads;
      say("a word is read that nothing has written", thread, at * 4);
    }
    if (access == Access::read) {
      word.reader = word.read_in == epoch_ && word.reader != thread ? kSeveral : thread;
      word.read_in = epoch_;
      return;
    }
    word.writer = self;
    word.written_in = epoch_;
    word.set = true;
    word.in_flight = access == Access::copy;
  }

  void say(const char* what, int thread, std::uint32_t at) {
    if (!report_.first.empty()) return;
    report_.first = std::string(what) + ": thread " + std::to_string(thread) + ", byte " + std::to_string(at) +
                    ", behind barrier " + std::to_string(epoch_);
  }

  std::vector<Word> words_;
  AuditReport& report_;
  std::int64_t epoch_ = 0;
};

}  // namespace attn::cuda
