// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/tensor/expected.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attn::app {

/// Values of a profile's input variables: height, width, frames, steps, cfg, batch, ...
using ProfileInputs = std::map<std::string, double, std::less<>>;

/// One attention entry of a profile with every expression evaluated for given inputs.
struct ProfileCall {
  std::string slot;       ///< "transformer", "vae", ...
  std::string component;  ///< class name
  std::string role;       ///< text_encoder, connector, denoiser, vae_decoder
  std::string pass;
  std::string where;
  std::string kind;
  std::string dtype;       ///< as written: "bfloat16", "same as pipeline", ...
  std::int64_t runs = 0;   ///< forwards in one generation
  std::int64_t calls = 0;  ///< calls in one forward
  std::int64_t batch = 1;
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;
  std::int64_t query_tokens = 0;
  std::int64_t key_tokens = 0;
  std::int64_t head_dim = 0;
  std::vector<std::string> query_streams;
  std::vector<std::int64_t> query_stream_tokens;  ///< tokens of each stream; empty where the profile does not say
  bool causal = false;
  bool sdpa = true;  ///< false: the code computes attention some other way, no call is made
  std::optional<double> scale;
  struct Mask {
    std::string dtype;
    std::vector<std::int64_t> shape;
  };
  std::optional<Mask> mask;  ///< present for these inputs
};

/// A model's attention profile: what models.md describes.
class Profile {
 public:
  [[nodiscard]] const std::string& id() const noexcept { return id_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const std::string& medium() const noexcept { return medium_; }
  [[nodiscard]] const std::string& pipeline() const noexcept { return pipeline_; }
  [[nodiscard]] const std::optional<std::string>& architecture() const noexcept { return architecture_; }
  [[nodiscard]] const std::string& repo() const noexcept { return repo_; }
  [[nodiscard]] const std::string& guidance() const noexcept { return guidance_; }      ///< "distilled", ...
  [[nodiscard]] const std::string& confidence() const noexcept { return confidence_; }  ///< high, medium, low
  [[nodiscard]] const std::vector<std::string>& notes() const noexcept { return notes_; }
  [[nodiscard]] const ProfileInputs& defaults() const noexcept { return defaults_; }
  [[nodiscard]] std::optional<std::string> denoiser_class() const;

  /// Class names in the `transformer` and `unet` slots, as a pipeline has them; nullopt for an empty slot.
  [[nodiscard]] std::optional<std::string> class_in(std::string_view slot) const;

  /// Evaluates everything for the defaults with `overrides` on top, in the file's order, passes that do not run
  /// (runs 0) included. Unknown names, sizes under 1 and counts that are not whole are errors that name the input
  /// or the expression.
  [[nodiscard]] Expected<std::vector<ProfileCall>> calls(const ProfileInputs& overrides) const;
  /// The named values, evaluated in order.
  [[nodiscard]] Expected<ProfileInputs> values(const ProfileInputs& overrides) const;

 private:
  friend class ProfileLibrary;
  struct Data;
  friend class ProfileReader;
  std::string id_, name_, medium_, pipeline_, repo_, guidance_, confidence_;
  std::vector<std::string> notes_;
  std::optional<std::string> architecture_;
  ProfileInputs defaults_;
  std::shared_ptr<const Data> data_;
};

/// All profiles of a file.
class ProfileLibrary {
 public:
  /// Reads the text of a models.json. Error: what is missing or wrong, in which model and field.
  [[nodiscard]] static Expected<ProfileLibrary> parse(std::string_view text, std::string_view file_name);
  [[nodiscard]] const std::vector<Profile>& profiles() const noexcept { return profiles_; }
  /// By id, without regard to case; the error lists the nearest ids.
  [[nodiscard]] Expected<const Profile*> find(std::string_view id) const;
  [[nodiscard]] const std::map<std::string, std::string>& input_help() const noexcept { return input_help_; }

 private:
  std::vector<Profile> profiles_;
  std::map<std::string, std::string> input_help_;
};

}  // namespace attn::app
