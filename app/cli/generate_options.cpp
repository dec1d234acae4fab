// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/generate_options.h"

#include <charconv>
#include <filesystem>
#include <random>
#include <system_error>
#include <utility>

namespace attn::cli {
namespace {

namespace fs = std::filesystem;

template <class Number>
bool read_whole(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

Expected<std::pair<std::int64_t, std::int64_t>> read_size(const std::string& option, const std::string& text) {
  std::pair<std::int64_t, std::int64_t> size;
  const std::size_t cross = text.find('x');
  const std::string_view all = text;
  if (cross == std::string::npos) {
    if (read_whole(all, size.first)) return std::pair(size.first, size.first);
  } else if (read_whole(all.substr(0, cross), size.first) && read_whole(all.substr(cross + 1), size.second)) {
    return size;
  }
  return fail(option + " " + text + ": write a size such as 256 or 256x192");
}

Expected<std::uint64_t> read_seed(const std::string& text) {
  std::uint64_t seed = 0;
  if (text == "random") {
    std::random_device device;
    return device();
  }
  if (read_whole(text, seed)) return seed;
  return fail("--seed " + text + ": a whole number that is not negative, or the word random, is needed");
}

template <class Value, class Parse>
Expected<void> read_choice(const std::string& option, const std::optional<std::string>& text, Value& into, Parse parse,
                           const std::string& right) {
  if (!text) return {};
  const std::optional<Value> value = parse(*text);
  if (!value) return fail(option + " " + *text + ": " + right + " is needed");
  into = *value;
  return {};
}

Expected<void> read_hires(const GenerateOptions& options, app::GenerationSettings& settings) {
  if (options.hires == "off") {
    settings.hires.reset();
  } else if (options.hires) {
    const auto size = read_size("--hires", *options.hires);
    if (!size) return fail(size.error());
    if (!settings.hires) settings.hires.emplace();
    settings.hires->width = size->first;
    settings.hires->height = size->second;
  }
  const bool more = options.hires_steps || options.hires_strength || options.hires_upscale;
  if (!settings.hires) {
    return more ? Expected<void>(fail("--hires-steps, --hires-strength and --hires-upscale need --hires SIZE"))
                : Expected<void>();
  }
  if (options.hires_steps) settings.hires->steps = *options.hires_steps;
  if (options.hires_strength) settings.hires->strength = *options.hires_strength;
  return read_choice("--hires-upscale", options.hires_upscale, settings.hires->upscale, app::parse_upscale,
                     "latent or image");
}

Expected<void> read_size_options(const GenerateOptions& options, app::GenerationSettings& settings) {
  if (options.size) {
    if (options.width || options.height) return fail("--size says what --width and --height say; give one of them");
    const auto size = read_size("--size", *options.size);
    if (!size) return fail(size.error());
    settings.width = size->first;
    settings.height = size->second;
  }
  if (options.width) settings.width = *options.width;
  if (options.height) settings.height = *options.height;
  return {};
}

Expected<void> read_forms(const GenerateOptions& options, app::GenerationSettings& settings) {
  if (auto good = read_choice("--dtype", options.dtype, settings.dtype, parse_dtype, "one of fp32, fp16, bf16");
      !good) {
    return good;
  }
  if (auto good = read_choice("--text", options.text, settings.text, app::parse_text_form, "padded or trimmed");
      !good) {
    return good;
  }
  if (options.compiled_option != nullptr && options.compiled_option->count() > 0) settings.compiled = options.compiled;
  return read_choice("--step-source", options.step_source, settings.step_source, app::parse_step_source,
                     "callback or hook");
}

}  // namespace

void GenerateOptions::add(CLI::App& command) {
  add_picture(command);
  command.add_option("-o,--output", output, "The PNG to write")->type_name("FILE")->required();
  command.add_option("--against", against, "A picture of the same size: PSNR and SSIM against it")->type_name("FILE");
  compiled_option =
      command.add_flag("--compiled,!--no-compiled", compiled, "Choose routes once per call site and keep them")
          ->group("Attention calls");
  repeat.add(command);
  chain.add_chain(command);
  target_option = command.get_option("--target");
}

void GenerateOptions::add_picture(CLI::App& command) {
  constexpr const char* kGroup = "Picture";
  command.add_option("PROMPT", prompt, "What to draw, in the model's words")->type_name("");
  command.add_option("--from", from, "Start from the settings inside a PNG that was made here")->type_name("FILE");
  command.add_option("--negative", negative, "What guidance leads away from")->type_name("TEXT")->group(kGroup);
  command.add_option("--seed", seed, "Of the noise: a number, or random (default: 0)")->type_name("N")->group(kGroup);
  command.add_option("--size", size, "Width and height: 64 to 512 in multiples of 8 (default: 128)")
      ->type_name("WxH")
      ->group(kGroup);
  command.add_option("--width", width, "In pixels")->type_name("N")->group(kGroup);
  command.add_option("--height", height, "In pixels")->type_name("N")->group(kGroup);
  command.add_option("--steps", steps, "Denoising steps (default: 20)")->type_name("N")->group(kGroup);
  command.add_option("--guidance", guidance, "How much the prompt counts; 1 is the prompt alone (default: 3)")
      ->type_name("X")
      ->group(kGroup);
  constexpr const char* kHires = "Second pass";
  command.add_option("--hires", hires, "Draw again at this size from the first picture, or off")
      ->type_name("WxH")
      ->group(kHires);
  command.add_option("--hires-steps", hires_steps, "Steps of the second pass (default: 10)")
      ->type_name("N")
      ->group(kHires);
  command.add_option("--hires-strength", hires_strength, "Share of noise that is put back, to 1 (default: 0.6)")
      ->type_name("X")
      ->group(kHires);
  command.add_option("--hires-upscale", hires_upscale, "latent or image (default: latent)")
      ->type_name("WHAT")
      ->group(kHires);
  constexpr const char* kCalls = "Attention calls";
  command.add_option("--dtype", dtype, "Of the attention tensors: fp32, fp16 or bf16 (default: fp32)")
      ->type_name("TYPE")
      ->group(kCalls);
  command
      .add_option(
          "--text", text,
          "padded: both prompts in one masked batch; trimmed: one by one without a mask, for backends that take "
          "none (default: padded)")
      ->type_name("FORM")
      ->group(kCalls);
  command.add_option("--step-source", step_source, "Who counts steps: callback or hook (default: callback)")
      ->type_name("WHO")
      ->group(kCalls);
  command.add_option("--threads", threads, "Threads to use; 0 is all of them")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  command.add_option("--model", model, "Another folder with config.json and shapes.safetensors")->type_name("DIR");
}

Expected<app::PictureSettings> read_generate(GenerateOptions& options) {
  app::PictureSettings settings;
  if (!options.from.empty()) {
    if (!options.chain.import_file.empty()) return fail("--from and --import both set the chain; give one of them");
    auto read = app::read_picture_settings(options.from);
    if (!read) return fail(read.error());
    settings = *std::move(read);
    if (options.target_option->count() == 0) options.chain.target = settings.target;
  } else if (!options.prompt) {
    return fail("no prompt given; write one such as \"a red circle on a blue background\", or take one with --from");
  }
  app::GenerationSettings& generation = settings.generation;
  if (options.prompt) generation.prompt = *options.prompt;
  if (options.negative) generation.negative_prompt = *options.negative;
  if (options.seed) {
    const auto seed = read_seed(*options.seed);
    if (!seed) return fail(seed.error());
    generation.seed = *seed;
  }
  if (auto good = read_size_options(options, generation); !good) return fail(good.error());
  if (options.steps) generation.steps = *options.steps;
  if (options.guidance) generation.guidance = *options.guidance;
  if (auto good = read_hires(options, generation); !good) return fail(good.error());
  if (auto good = read_forms(options, generation); !good) return fail(good.error());
  return settings;
}

Expected<std::unique_ptr<Engine>> make_generate_engine(const GenerateOptions& options,
                                                       const app::PictureSettings& settings, LogSink sink) {
  auto engine = make_engine(options.chain, std::move(sink));
  if (!engine || settings.settings.empty()) return engine;
  if (auto set = (*engine)->set_all(settings.settings); !set) return fail(options.from + ": " + set.error());
  if (auto set = apply_sets(**engine, options.chain.overrides, options.chain.sets); !set) return fail(set.error());
  return engine;
}

Expected<void> check_output(const std::string& path) {
  const fs::path file(path);
  std::error_code error;
  const fs::path folder = file.parent_path().empty() ? fs::path(".") : file.parent_path();
  if (fs::is_directory(file, error) || !file.has_filename()) {
    return fail("cannot write " + path + ": it is a directory; a file such as out.png is needed");
  }
  if (!fs::is_directory(folder, error)) return fail("cannot write " + path + ": there is no folder " + folder.string());
  if (file.extension() != ".png" && file.extension() != ".PNG") {
    return fail("-o " + path + ": the picture is a PNG; a name that ends in .png is needed");
  }
  return {};
}

}  // namespace attn::cli
