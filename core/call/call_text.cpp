// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/call/call_text.h"

#include "core/call/call_strides.h"

#include <array>
#include <charconv>
#include <limits>
#include <vector>

namespace attn {
namespace {

constexpr std::string_view kHelp =
    "q[B,H,Sq,D] k[B,Hkv,Sk,D] v[...]  bf16|fp16|fp32|fp64|int8  q=fp32 k=... v=...  "
    "mask=none|bool|float|padding:N|bool[1,1,64,64]  causal  gqa  scale=0.1  dropout=0.0  "
    "strides=contiguous|transposed|qkv|expanded  q_strides=[...]  device=accel|cpu  q_device=...  "
    "role=te|transformer|vae|none|other  step=3/20";

constexpr std::int64_t kLargestSize = std::numeric_limits<std::int32_t>::max();

using Sizes = std::vector<std::int64_t>;

template <class Number>
std::optional<Number> read_number(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return number;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::string quoted(std::string_view token) { return "\"" + std::string(token) + "\""; }

/// Splits at white space outside of brackets.
std::vector<std::string> tokens_of(std::string_view text) {
  std::vector<std::string> tokens;
  std::string token;
  int depth = 0;
  for (const char c : text) {
    const bool space = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (c == '[') ++depth;
    if (c == ']') --depth;
    if (!space) token += c;
    if (space && depth <= 0 && !token.empty()) tokens.push_back(std::move(token)), token.clear();
  }
  if (!token.empty()) tokens.push_back(std::move(token));
  return tokens;
}

/// "[1,24,4608,128]" with each number at least `least`.
Expected<Sizes> read_sizes(std::string_view token, std::string_view text, std::int64_t least) {
  const std::string example = least < 0 ? " such as [1024,64,1]" : " such as [1,24,4608,128]";
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') {
    return fail(quoted(token) + ": \"" + std::string(text) + "\" is no list of numbers in brackets" + example);
  }
  text = text.substr(1, text.size() - 2);
  Sizes sizes;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view word = trimmed(text.substr(0, comma));
    const auto number = read_number<std::int64_t>(word);
    if (!number) {
      return fail(quoted(token) + ": \"" + std::string(word) + "\" is no whole number; write a list" + example);
    }
    if (least >= 0 && *number < least) {
      return fail(quoted(token) + ": size " + std::string(word) + " is below " + std::to_string(least) +
                  "; every size must be a whole number from " + std::to_string(least));
    }
    if (*number > kLargestSize * (least < 0 ? kLargestSize : 1)) {
      return fail(quoted(token) + ": " + std::string(word) + " is over " + std::to_string(kLargestSize) +
                  ", the largest size");
    }
    sizes.push_back(*number);
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  if (sizes.size() > TensorView::kMaxRank) {
    return fail(quoted(token) + " has " + std::to_string(sizes.size()) + " dimensions; attention takes 2 to 5");
  }
  return sizes;
}

/// What the tokens said, before it is put together: the order of tokens does not matter.
struct Draft {
  struct Tensor {
    std::optional<Sizes> shape;
    std::optional<Sizes> strides;
    std::optional<DType> dtype;
    std::optional<Device> device;
  };
  std::array<Tensor, 3> tensors;  ///< q, k, v
  std::optional<DType> dtype;
  std::optional<Device> device;
  std::optional<std::string> mask;
  std::optional<CallLayout> layout;
  std::optional<double> scale;
  std::optional<double> dropout;
  std::optional<Role> role;
  bool causal = false;
  bool gqa = false;
  std::optional<std::pair<int, int>> step;
};

constexpr std::string_view kTensorNames = "qkv";

template <class T>
Expected<void> put(std::optional<T>& slot, T value, std::string_view token) {
  if (slot) return fail(quoted(token) + " says again what an earlier token said; say it once");
  slot = std::move(value);
  return {};
}

template <class T>
Expected<void> put(std::optional<T>& slot, Expected<T> value, std::string_view token) {
  if (!value) return fail(std::move(value.error()));
  return put(slot, *std::move(value), token);
}

Expected<DType> read_dtype(std::string_view token, std::string_view text) {
  if (text.starts_with("torch.")) text.remove_prefix(6);
  const auto dtype = parse_dtype(text);
  if (!dtype || *dtype == DType::boolean) {
    return fail(quoted(token) + ": \"" + std::string(text) + "\" is no dtype; write bf16, fp16, fp32, fp64 or int8");
  }
  return *dtype;
}

Expected<Device> read_device(std::string_view token, std::string_view text) {
  const auto device = parse_device(text);
  if (!device) {
    return fail(quoted(token) + ": \"" + std::string(text) + "\" is no device; write accel, accel:1 or cpu");
  }
  return *device;
}

Expected<double> read_real(std::string_view token, std::string_view text, double least, double most) {
  const auto number = read_number<double>(text);
  if (!number || !std::isfinite(*number) || *number < least || *number > most) {
    return fail(quoted(token) + ": \"" + std::string(text) + "\" is no " +
                (most <= 1.0 ? "probability from 0 to 1" : "finite number") + " such as 0.1");
  }
  return *number;
}

Expected<std::pair<int, int>> read_step(std::string_view token, std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto step = read_number<int>(text.substr(0, slash));
  std::optional<int> steps = 0;
  if (slash != std::string_view::npos) steps = read_number<int>(text.substr(slash + 1));
  if (!step || !steps || *step < 0 || *steps < 0 || (slash != std::string_view::npos && *step >= *steps)) {
    return fail(quoted(token) + ": write step=I or step=I/N with I from 0 to N-1, such as step=3/20");
  }
  return std::pair{*step, *steps};
}

Expected<CallLayout> read_layout(std::string_view token, std::string_view text) {
  for (const CallLayout layout :
       {CallLayout::contiguous, CallLayout::transposed, CallLayout::fused_qkv, CallLayout::expanded}) {
    if (text == name_of(layout)) return layout;
  }
  return fail(quoted(token) + ": write strides=contiguous, transposed, qkv or expanded, or numbers for one tensor " +
              "such as q_strides=[589824,128,3072,1]");
}

Expected<void> read_tensor_token(Draft& draft, std::string_view token, std::size_t which, std::string_view key,
                                 std::string_view value) {
  Draft::Tensor& tensor = draft.tensors[which];
  if (key.size() == 1 && value.starts_with('[')) return put(tensor.shape, read_sizes(token, value, 1), token);
  if (key.size() == 1) return put(tensor.dtype, read_dtype(token, value), token);
  if (key.substr(1) == "_strides") return put(tensor.strides, read_sizes(token, value, -1), token);
  return put(tensor.device, read_device(token, value), token);
}

Expected<void> read_pair(Draft& draft, std::string_view token, std::string_view key, std::string_view value) {
  const std::size_t which = key.empty() ? std::string_view::npos : kTensorNames.find(key.front());
  const std::string_view rest = key.empty() ? key : key.substr(1);
  if (which != std::string_view::npos && (rest.empty() || rest == "_strides" || rest == "_device")) {
    return read_tensor_token(draft, token, which, key, value);
  }
  if (key == "dtype") return put(draft.dtype, read_dtype(token, value), token);
  if (key == "device") return put(draft.device, read_device(token, value), token);
  if (key == "mask") return put(draft.mask, std::string(value), token);
  if (key == "strides") return put(draft.layout, read_layout(token, value), token);
  if (key == "scale") {
    constexpr double most = std::numeric_limits<double>::max();
    return put(draft.scale, read_real(token, value, -most, most), token);
  }
  if (key == "dropout") return put(draft.dropout, read_real(token, value, 0.0, 1.0), token);
  if (key == "step") return put(draft.step, read_step(token, value), token);
  if (key == "role") {
    const auto role = parse_role(value);
    if (!role) return fail(quoted(token) + ": write role=te, transformer, vae, none or other");
    return put(draft.role, *role, token);
  }
  return fail("unknown token " + quoted(token) + " in a call; a call is written as " + std::string(kHelp));
}

Expected<void> read_token(Draft& draft, std::string_view token) {
  for (std::size_t i = 0; i < kTensorNames.size(); ++i) {
    if (token.size() > 1 && token[0] == kTensorNames[i] && token[1] == '[') {
      return put(draft.tensors[i].shape, read_sizes(token, token.substr(1), 1), token);
    }
  }
  if (token == "causal" || token == "gqa") {
    bool& flag = token == "causal" ? draft.causal : draft.gqa;
    if (flag) return fail(quoted(token) + " says again what an earlier token said; say it once");
    flag = true;
    return {};
  }
  if (const auto equals = token.find('='); equals != std::string_view::npos) {
    return read_pair(draft, token, token.substr(0, equals), token.substr(equals + 1));
  }
  if (const auto dtype = parse_dtype(token); dtype && *dtype != DType::boolean) return put(draft.dtype, *dtype, token);
  return fail("unknown token " + quoted(token) + " in a call; a call is written as " + std::string(kHelp));
}

Expected<TensorView> tensor_of(const Draft& draft, std::size_t which, const Sizes& shape) {
  const Draft::Tensor& tensor = draft.tensors[which];
  double elements = 1.0;
  for (const std::int64_t size : shape) elements *= static_cast<double>(size);
  const std::string name(1, kTensorNames[which]);
  if (elements > 0x1p60) return fail(name + shape_text(shape) + " has more than 2^60 elements");
  TensorView view = TensorView::contiguous(shape, tensor.dtype.value_or(draft.dtype.value_or(DType::bfloat16)),
                                           tensor.device.value_or(draft.device.value_or(Device::accel())));
  if (!tensor.strides) return view;
  if (tensor.strides->size() != shape.size()) {
    return fail(name + "_strides has " + std::to_string(tensor.strides->size()) + " numbers, but " + name +
                shape_text(shape) + " has " + std::to_string(shape.size()) + " dimensions; write one stride for each");
  }
  double reach = 0.0;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    view.stride[i] = (*tensor.strides)[i];
    reach += std::abs(static_cast<double>(view.stride[i])) * static_cast<double>(shape[i]);
  }
  if (reach >= 0x1p60) return fail(name + "_strides reaches more than 2^60 elements");
  return view;
}

/// Reads the value of mask= once the other sizes are known.
Expected<void> read_mask(const Draft& draft, WrittenCall& written) {
  AttentionCall& call = written.call;
  if (!draft.mask || *draft.mask == "none") return {};
  const std::string_view text = *draft.mask;
  const std::string token = "mask=" + *draft.mask;
  if (text.starts_with("padding:")) {
    const auto hidden = read_number<std::int64_t>(text.substr(8));
    if (!hidden || *hidden < 1 || *hidden > call.key_tokens()) {
      return fail(quoted(token) + ": write mask=padding:N with N from 1 to the " + std::to_string(call.key_tokens()) +
                  " keys of the call");
    }
    written.hidden_keys = *hidden;
    call.attn_mask = TensorView::contiguous({1, 1, 1, call.key_tokens()}, DType::boolean, call.query.device);
    return {};
  }
  const std::size_t bracket = std::min(text.find('['), text.size());
  const std::string_view name = text.substr(0, bracket);
  std::optional<DType> dtype = name == "bool" ? DType::boolean : name == "float" ? call.query.dtype : parse_dtype(name);
  if (!dtype || *dtype == DType::int8) {
    return fail(quoted(token) + ": write mask=none, bool, float, padding:N or a shape such as mask=bool[1,1,64,64]");
  }
  Sizes shape{1, 1, call.query_tokens(), call.key_tokens()};
  if (bracket < text.size()) {
    auto sizes = read_sizes(token, text.substr(bracket), 1);
    if (!sizes) return fail(std::move(sizes.error()));
    shape = *std::move(sizes);
  }
  call.attn_mask = TensorView::contiguous(shape, *dtype, call.query.device);
  return {};
}

Expected<WrittenCall> assemble(const Draft& draft) {
  if (!draft.tensors[0].shape) {
    return fail("the call has no query; write its shape (batch, heads, tokens, head_dim), such as q[1,24,4608,128]");
  }
  const Sizes& q = *draft.tensors[0].shape;
  const Sizes& k = draft.tensors[1].shape.value_or(q);
  const Sizes& v = draft.tensors[2].shape.value_or(k);
  WrittenCall written;
  AttentionCall& call = written.call;
  for (const auto& [view, which, shape] : {std::tuple{&call.query, std::size_t{0}, &q},
                                           {&call.key, std::size_t{1}, &k},
                                           {&call.value, std::size_t{2}, &v}}) {
    auto tensor = tensor_of(draft, which, *shape);
    if (!tensor) return fail(std::move(tensor.error()));
    *view = *tensor;
  }
  call.is_causal = draft.causal;
  call.enable_gqa = draft.gqa;
  call.scale = draft.scale;
  call.dropout_p = draft.dropout.value_or(0.0);
  if (auto mask = read_mask(draft, written); !mask) return fail(std::move(mask.error()));
  if (auto ok = check_call(call); !ok) return fail(std::move(ok.error()));
  if (draft.layout) {
    AttentionCall laid = call;
    if (auto ok = lay_out(laid, *draft.layout); !ok) return fail(std::move(ok.error()));
    // Numbers for one tensor are more exact than a word for all of them.
    if (!draft.tensors[0].strides) call.query = laid.query;
    if (!draft.tensors[1].strides) call.key = laid.key;
    if (!draft.tensors[2].strides) call.value = laid.value;
  }
  written.devices_stated =
      draft.device.has_value() || std::any_of(draft.tensors.begin(), draft.tensors.end(),
                                              [](const auto& tensor) { return tensor.device.has_value(); });
  written.role = draft.role.value_or(Role::transformer);
  if (draft.step) std::tie(written.step, written.steps) = *draft.step;
  return written;
}

bool same_sizes(const TensorView& a, const TensorView& b) {
  return a.rank == b.rank && std::equal(a.sizes().begin(), a.sizes().end(), b.sizes().begin());
}

bool same_strides(const TensorView& a, const TensorView& b) {
  return a.rank == b.rank && std::equal(a.strides().begin(), a.strides().end(), b.strides().begin());
}

std::string list_text(std::span<const std::int64_t> numbers) {
  std::string text = "[";
  for (const std::int64_t number : numbers) text += (text.size() > 1 ? "," : "") + std::to_string(number);
  return text + "]";
}

std::string shortest(double value) {
  std::array<char, 32> digits{};
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  return std::string(digits.data(), error == std::errc{} ? end : digits.data());
}

std::string strides_text(const AttentionCall& call) {
  for (const CallLayout layout :
       {CallLayout::contiguous, CallLayout::transposed, CallLayout::fused_qkv, CallLayout::expanded}) {
    AttentionCall laid = call;
    if (!lay_out(laid, layout)) continue;
    if (same_strides(laid.query, call.query) && same_strides(laid.key, call.key) &&
        same_strides(laid.value, call.value)) {
      return layout == CallLayout::contiguous ? std::string() : " strides=" + std::string(name_of(layout));
    }
  }
  std::string text;
  for (const auto& [name, view] : {std::pair{"q", &call.query}, {"k", &call.key}, {"v", &call.value}}) {
    const TensorView plain = TensorView::contiguous(view->sizes(), view->dtype, view->device);
    if (!same_strides(plain, *view)) text += std::string(" ") + name + "_strides=" + list_text(view->strides());
  }
  return text;
}

std::string mask_text(const WrittenCall& written) {
  const AttentionCall& call = written.call;
  if (!call.attn_mask) return {};
  if (written.hidden_keys > 0) return " mask=padding:" + std::to_string(written.hidden_keys);
  const TensorView& mask = *call.attn_mask;
  std::string text = " mask=";
  if (mask.dtype == DType::boolean) {
    text += "bool";
  } else {
    text += mask.dtype == call.query.dtype ? "float" : std::string(short_name_of(mask.dtype));
  }
  const std::array<std::int64_t, 4> usual{1, 1, call.query_tokens(), call.key_tokens()};
  const bool is_usual = mask.rank == 4 && std::equal(usual.begin(), usual.end(), mask.shape.begin());
  return is_usual ? text : text + list_text(mask.sizes());
}

}  // namespace

std::string_view call_notation_help() noexcept { return kHelp; }

Expected<WrittenCall> parse_call(std::string_view text) {
  Draft draft;
  for (const std::string& token : tokens_of(text)) {
    if (auto ok = read_token(draft, token); !ok) return fail(std::move(ok.error()));
  }
  return assemble(draft);
}

std::string write_call(const WrittenCall& written) {
  const AttentionCall& call = written.call;
  std::string text = "q" + list_text(call.query.sizes());
  if (!same_sizes(call.key, call.query)) text += " k" + list_text(call.key.sizes());
  if (!same_sizes(call.value, call.key)) text += " v" + list_text(call.value.sizes());
  const DType dtype = call.query.dtype;
  if (dtype != DType::bfloat16) text += " " + std::string(short_name_of(dtype));
  if (call.key.dtype != dtype) text += " k=" + std::string(short_name_of(call.key.dtype));
  if (call.value.dtype != dtype) text += " v=" + std::string(short_name_of(call.value.dtype));
  text += mask_text(written);
  if (call.is_causal) text += " causal";
  if (call.enable_gqa) text += " gqa";
  if (call.scale) text += " scale=" + shortest(*call.scale);
  if (call.dropout_p != 0.0) text += " dropout=" + shortest(call.dropout_p);
  text += strides_text(call);
  const Device device = call.query.device;
  if (device != Device::accel()) text += " device=" + to_string(device);
  if (call.key.device != device) text += " k_device=" + to_string(call.key.device);
  if (call.value.device != device) text += " v_device=" + to_string(call.value.device);
  if (written.role != Role::transformer) text += " role=" + std::string(name_of(written.role));
  if (written.step != 0 || written.steps != 0) text += " step=" + std::to_string(written.step);
  if (written.steps != 0) text += "/" + std::to_string(written.steps);
  return text;
}

}  // namespace attn
