// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/pipeline/png_file.h"

#include <png.h>
#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstring>
#include <vector>

namespace attn::app {
namespace {

constexpr png_uint_32 kLargestSide = 16384;
constexpr png_alloc_size_t kLargestChunk = 1 << 20;  // of text; a broken length must not ask for all memory

/// What libpng reads from or writes to, and why it gave up. libpng leaves by longjmp, over no object with a destructor:
/// everything that owns memory lives in the functions that call it.
struct Stream {
  std::string_view in;
  std::string* out = nullptr;
  std::array<char, 120> error{};
};

void gave_up(png_structp png, png_const_charp reason) {
  auto* stream = static_cast<Stream*>(png_get_error_ptr(png));
  std::strncpy(stream->error.data(), reason, stream->error.size() - 1);
  png_longjmp(png, 1);
}

void warned(png_structp, png_const_charp) {}

void take(png_structp png, png_bytep bytes, std::size_t count) {
  auto* stream = static_cast<Stream*>(png_get_io_ptr(png));
  if (count > stream->in.size()) png_error(png, "it ends in the middle");
  std::memcpy(bytes, stream->in.data(), count);
  stream->in.remove_prefix(count);
}

void give(png_structp png, png_bytep bytes, std::size_t count) {
  static_cast<Stream*>(png_get_io_ptr(png))->out->append(reinterpret_cast<const char*>(bytes), count);
}

void flush(png_structp) {}

/// libpng's two structures for reading, taken down whatever happens.
struct Reader {
  explicit Reader(Stream& stream) : png(png_create_read_struct(PNG_LIBPNG_VER_STRING, &stream, gave_up, warned)) {
    if (png != nullptr) info = png_create_info_struct(png);
    if (info == nullptr) return;
    png_set_read_fn(png, &stream, take);
    png_set_user_limits(png, kLargestSide, kLargestSide);
    png_set_chunk_malloc_max(png, kLargestChunk);
  }
  ~Reader() { png_destroy_read_struct(&png, &info, nullptr); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  png_structp png;
  png_infop info = nullptr;
};

struct Writer {
  explicit Writer(Stream& stream) : png(png_create_write_struct(PNG_LIBPNG_VER_STRING, &stream, gave_up, warned)) {
    if (png != nullptr) info = png_create_info_struct(png);
    if (info != nullptr) png_set_write_fn(png, &stream, give, flush);
  }
  ~Writer() { png_destroy_write_struct(&png, &info); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  png_structp png;
  png_infop info = nullptr;
};

bool read_head(png_structp png, png_infop info) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;  // NOLINT(cert-err52-cpp): libpng's way
  png_read_info(png, info);
  return true;
}

/// Asks for eight bits of red, green and blue; the bytes of a row, 0 when libpng gave up.
std::size_t ask_for_rgb(png_structp png, png_infop info) {
  if (setjmp(png_jmpbuf(png)) != 0) return 0;  // NOLINT(cert-err52-cpp)
  png_set_expand(png);
  png_set_strip_16(png);
  png_set_gray_to_rgb(png);
  png_set_strip_alpha(png);
  png_set_interlace_handling(png);
  png_read_update_info(png, info);
  return png_get_rowbytes(png, info);
}

bool read_rows(png_structp png, png_bytepp rows) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;  // NOLINT(cert-err52-cpp)
  png_read_image(png, rows);
  png_read_end(png, nullptr);
  return true;
}

bool write_all(png_structp png, png_infop info, png_uint_32 width, png_uint_32 height, png_textp texts, int count,
               png_bytepp rows) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;  // NOLINT(cert-err52-cpp)
  png_set_IHDR(png, info, width, height, 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  png_set_text(png, info, texts, count);
  png_write_info(png, info);
  png_write_image(png, rows);
  png_write_end(png, nullptr);
  return true;
}

/// Rows of pixels as libpng takes them.
std::vector<png_bytep> rows_of(std::vector<std::uint8_t>& pixels, std::size_t row_bytes) {
  std::vector<png_bytep> rows;
  for (std::size_t at = 0; at < pixels.size(); at += row_bytes) rows.push_back(pixels.data() + at);
  return rows;
}

tl::unexpected<std::string> broken(const Stream& stream) {
  return fail("is no PNG that can be read: " + std::string(stream.error.data()));
}

}  // namespace

Expected<std::string> png_bytes(const Picture& picture, const PngTexts& texts) {
  std::string bytes;
  Stream stream;
  stream.out = &bytes;
  const Writer writer(stream);
  if (writer.info == nullptr) return fail("libpng could not start: " + std::string(stream.error.data()));
  std::vector<std::string> words;  // libpng asks for texts that it could write to
  for (const auto& [keyword, text] : texts) {
    words.push_back(keyword);
    words.push_back(text);
  }
  std::vector<png_text> chunks(texts.size());
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    chunks[i].compression = PNG_TEXT_COMPRESSION_NONE;
    chunks[i].key = words[2 * i].data();
    chunks[i].text = words[2 * i + 1].data();
    chunks[i].text_length = words[2 * i + 1].size();
  }
  std::vector<std::uint8_t> pixels = picture.rgb;
  std::vector<png_bytep> rows = rows_of(pixels, static_cast<std::size_t>(picture.width) * 3);
  if (!write_all(writer.png, writer.info, static_cast<png_uint_32>(picture.width),
                 static_cast<png_uint_32>(picture.height), chunks.data(), static_cast<int>(chunks.size()),
                 rows.data())) {
    return fail("the picture could not be written as PNG: " + std::string(stream.error.data()));
  }
  return bytes;
}

Expected<PngTexts> read_png_texts(std::string_view bytes) {
  Stream stream;
  stream.in = bytes;
  const Reader reader(stream);
  if (reader.info == nullptr || !read_head(reader.png, reader.info)) return broken(stream);
  png_textp chunks = nullptr;
  const int count = png_get_text(reader.png, reader.info, &chunks, nullptr);
  PngTexts texts;
  for (int i = 0; i < count; ++i) texts.emplace(chunks[i].key, chunks[i].text == nullptr ? "" : chunks[i].text);
  return texts;
}

Expected<Picture> read_png(std::string_view bytes) {
  Stream stream;
  stream.in = bytes;
  const Reader reader(stream);
  if (reader.info == nullptr || !read_head(reader.png, reader.info)) return broken(stream);
  const std::size_t row_bytes = ask_for_rgb(reader.png, reader.info);
  Picture picture{png_get_image_width(reader.png, reader.info), png_get_image_height(reader.png, reader.info), {}};
  if (row_bytes != static_cast<std::size_t>(picture.width) * 3) return broken(stream);
  picture.rgb.resize(row_bytes * static_cast<std::size_t>(picture.height));
  std::vector<png_bytep> rows = rows_of(picture.rgb, row_bytes);
  if (!read_rows(reader.png, rows.data())) return broken(stream);
  return picture;
}

}  // namespace attn::app
