// SPDX-License-Identifier: GPL-3.0-or-later
#include "trace/text/debug_log.h"

#include <spdlog/details/log_msg.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <memory>
#include <utility>

namespace attn::trace {
namespace {

constexpr std::size_t kConsoleLevelWidth = 8;

// spdlog has no level between info and warning, so lines carry ours by number: none of its levels decides anything
// here, they only travel through it.
spdlog::level::level_enum numbered(LogLevel level) { return static_cast<spdlog::level::level_enum>(level); }

/// The level's name of the mirrored systems, padded to `width`.
class LevelName final : public spdlog::custom_flag_formatter {
 public:
  explicit LevelName(std::size_t width) : width_(width) {}
  void format(const spdlog::details::log_msg& message, const std::tm&, spdlog::memory_buf_t& out) override {
    const std::string_view name = name_of(static_cast<LogLevel>(message.level));
    out.append(name.data(), name.data() + name.size());
    for (std::size_t i = name.size(); i < width_; ++i) out.push_back(' ');
  }
  std::unique_ptr<custom_flag_formatter> clone() const override { return std::make_unique<LevelName>(width_); }

 private:
  std::size_t width_;
};

std::unique_ptr<spdlog::formatter> formatter(std::string pattern, std::size_t level_width) {
  auto made = std::make_unique<spdlog::pattern_formatter>();
  made->add_flag<LevelName>('*', level_width).set_pattern(std::move(pattern));
  return made;
}

std::string host_name(const std::string& wanted) {
  if (!wanted.empty()) return wanted;
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

// A percent sign begins a flag in a pattern.
std::string as_pattern(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '%') escaped += '%';
    escaped += c;
  }
  return escaped;
}

/// Both sinks and what is known about them.
class DebugLog {
 public:
  explicit DebugLog(const DebugLogOptions& options) : console_level_(options.console_level) {
    if (options.console) {
      console_ = std::make_shared<spdlog::sinks::stderr_sink_mt>();
      console_->set_formatter(formatter("%H:%M:%S-%f %* %v", kConsoleLevelWidth));
    }
    if (options.file) {
      file_ = std::make_shared<spdlog::sinks::rotating_file_sink_mt>(options.file->string(), options.file_bytes,
                                                                     options.old_files);
      file_->set_formatter(
          formatter("%Y-%m-%d %H:%M:%S,%e | " + as_pattern(host_name(options.host)) + " | sd | %* | %n | %v", 0));
    }
  }

  void write(const LogLine& line) noexcept {
    const std::string_view module = module_of(line.text);
    const spdlog::details::log_msg message(spdlog::string_view_t(module.data(), module.size()), numbered(line.level),
                                           spdlog::string_view_t(line.text.data(), line.text.size()));
    if (console_ && line.level >= console_level_) write_to(*console_, message);
    if (file_ && !file_failed_.load(std::memory_order_relaxed) && !write_to(*file_, message)) {
      if (!file_failed_.exchange(true)) {
        std::fprintf(stderr, "the log file %s takes no more lines; nothing further is written to it\n",
                     file_->filename().c_str());
      }
    }
  }

 private:
  static bool write_to(spdlog::sinks::sink& sink, const spdlog::details::log_msg& message) noexcept {
    try {
      sink.log(message);
      sink.flush();
      return true;
    } catch (const std::exception&) {
      return false;
    }
  }

  LogLevel console_level_;
  std::shared_ptr<spdlog::sinks::sink> console_;
  std::shared_ptr<spdlog::sinks::rotating_file_sink_mt> file_;
  std::atomic<bool> file_failed_{false};
};

struct ModuleOfText {
  std::string_view part;
  std::string_view module;
};
// First match wins: what names a backend stands before the general forms.
constexpr std::array kModules{
    ModuleOfText{"Attention route: ", "debug"},
    ModuleOfText{"Attention routes: ", "debug"},
    ModuleOfText{"ttention: chain=", "router"},
    ModuleOfText{"not available on backend=", "router"},
    ModuleOfText{"ttention: dynamo reset", "router"},
    ModuleOfText{"ttention: sparse=", "router"},
    ModuleOfText{"Sparse attention: backend=", "router"},
    ModuleOfText{"Sparse attention: enabled but", "router"},
    ModuleOfText{"Sparse attention: ", "stage"},
    ModuleOfText{"type=\"sdpa\" kernels=", "devices"},
    ModuleOfText{"Attention available: ", "devices"},
    ModuleOfText{"Attention dispatcher: ", "dispatcher"},
    ModuleOfText{"ttention: slicing=", "dispatcher"},
    ModuleOfText{"Setting model: attention=", "dispatcher"},
    ModuleOfText{"type=\"SDNQ attention\" matmul=", "sdnq"},
};

}  // namespace

std::string_view module_of(std::string_view text) noexcept {
  for (const ModuleOfText& known : kModules) {
    if (text.find(known.part) != std::string_view::npos) return known.module;
  }
  return "router";
}

Expected<LogSink> make_debug_log(const DebugLogOptions& options) {
  try {
    auto log = std::make_shared<DebugLog>(options);
    return LogSink([log](const LogLine& line) { log->write(line); });
  } catch (const std::exception& error) {
    return fail("log file " + options.file.value_or("").string() + " cannot be opened: " + error.what());
  }
}

}  // namespace attn::trace
