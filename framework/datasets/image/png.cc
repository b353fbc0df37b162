#include "kusari/framework/datasets/image/png.h"

#include "kusari/framework/core/deflate.h"
#include "kusari/framework/core/error.h"

#ifdef KUSARI_WITH_PNG

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <vector>

#include <png.h>

#include "kusari/framework/datasets/image/pixels.h"
#include "kusari/framework/datasets/transforms/image.h"

namespace kusari::datasets {
namespace {

/// libpng's reader. It reports errors by longjmp: each step that calls it is a function without objects to destroy,
/// gives false on an error, and message() says which.
class Reader {
 public:
  Reader(std::span<const uint8_t> bytes, bool tolerate_damage) : bytes_{bytes}, tolerate_damage_{tolerate_damage} {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, on_error, [](png_structp, png_const_charp) {});
    if (png_) info_ = png_create_info_struct(png_);
    if (!info_) {
      png_destroy_read_struct(&png_, nullptr, nullptr);
      throw OutOfMemoryError("decode_image: libpng has no memory");
    }
  }
  ~Reader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  bool read_header() {
    if (setjmp(png_jmpbuf(png_))) return false;
    png_set_read_fn(png_, this, read_bytes);
    png_set_user_limits(png_, 0x7fffffff, 0x7fffffff);  // the caller has max_pixels
#ifdef PNG_HANDLE_AS_UNKNOWN_SUPPORTED
    // Texts, profiles and the like: nobody asks for them.
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
#endif
    png_read_info(png_, info_);
    return true;
  }

  /// Settles which channels come out, 8 bits each.
  bool start(ImageMode mode) {
    if (setjmp(png_jmpbuf(png_))) return false;
    png_set_expand(png_);  // palettes to RGB, transparency to alpha, few bits to 8
    png_set_strip_16(png_);
    const bool color = (png_get_color_type(png_, info_) & PNG_COLOR_MASK_COLOR) != 0;
    if (mode == ImageMode::grey || mode == ImageMode::rgb) png_set_strip_alpha(png_);
    if ((mode == ImageMode::rgb || mode == ImageMode::rgba) && !color) png_set_gray_to_rgb(png_);
    if (mode == ImageMode::rgba) png_set_add_alpha(png_, 0xFF, PNG_FILLER_AFTER);
    png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    return true;
  }

  /// All rows and the end of the file.
  bool read_rows(png_bytepp rows) {
    if (setjmp(png_jmpbuf(png_))) return false;
    png_read_image(png_, rows);
    png_read_end(png_, nullptr);
    return true;
  }

  int64_t height() const { return png_get_image_height(png_, info_); }
  int64_t width() const { return png_get_image_width(png_, info_); }
  int64_t channels() const { return png_get_channels(png_, info_); }
  int64_t row_bytes() const { return static_cast<int64_t>(png_get_rowbytes(png_, info_)); }
  /// The row that was being read; of an interlaced image, in one of its passes.
  int64_t row() const { return png_get_current_row_number(png_); }
  const char* message() const { return message_; }

 private:
  static void on_error(png_structp png, png_const_charp message) {
    Reader& me = *static_cast<Reader*>(png_get_error_ptr(png));
    std::snprintf(me.message_, sizeof(me.message_), "%s", message);
    png_longjmp(png, 1);
  }

  static void read_bytes(png_structp png, png_bytep out, size_t count) {
    Reader& me = *static_cast<Reader*>(png_get_io_ptr(png));
    const size_t there = std::min(count, me.bytes_.size() - me.at_);
    if (there < count && (there == 0 || !me.tolerate_damage_)) png_error(png, "the file ends too early");
    std::memcpy(out, me.bytes_.data() + me.at_, there);
    std::memset(out + there, 0, count - there);  // libpng shall still decode what is there
    me.at_ += there;
  }

  std::span<const uint8_t> bytes_;
  bool tolerate_damage_;
  size_t at_ = 0;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  char message_[200] = "";
};

}  // namespace

Array decode_png(std::span<const uint8_t> bytes, const DecodeOptions& options, const std::string& where) {
  Reader png(bytes, options.tolerate_damage);
  const auto fail = [&](const std::string& what) { throw IoError(where + what); };
  if (!png.read_header()) fail(std::string("is damaged in its PNG header: ") + png.message());
  const int64_t height = png.height(), width = png.width();
  const std::string size = std::to_string(width) + "x" + std::to_string(height);
  if (height > options.max_pixels / width) {
    fail("has " + size + " pixels, more than max_pixels (" + std::to_string(options.max_pixels) + ")");
  }
  if (!options.tolerate_damage && png.row_bytes() * height / kBestDeflateRatio > static_cast<int64_t>(bytes.size())) {
    fail("is cut off or damaged: its PNG header promises " + size + " pixels, which do not fit into its " +
         std::to_string(bytes.size()) + " bytes");
  }
  if (!png.start(options.mode)) fail(std::string("is damaged in its PNG header: ") + png.message());
  const Array image = transforms::empty_image(png.channels(), {height, width}, Dtype::uint8);
  uint8_t* const pixels = image.data<uint8_t>();
  if (options.tolerate_damage) std::fill_n(pixels, image.size(), uint8_t{0});
  std::vector<png_bytep> rows(static_cast<size_t>(height));
  for (size_t y = 0; y < rows.size(); ++y) rows[y] = pixels + static_cast<int64_t>(y) * width * image.shape()[0];
  if (!png.read_rows(rows.data()) && !options.tolerate_damage) {
    fail("is damaged in its PNG data, at row " + std::to_string(png.row()) + " of " + std::to_string(height) + ": " +
         png.message());
  }
  return options.mode == ImageMode::grey && image.shape()[0] == 3 ? rgb_to_grey(image) : image;
}

}  // namespace kusari::datasets

#else

namespace kusari::datasets {

Array decode_png(std::span<const uint8_t>, const DecodeOptions&, const std::string& where) {
  throw IoError(where +
                "is a PNG file, and this build has no libpng: install it (Debian: libpng-dev) and build Kusari again "
                "(CMake option KUSARI_PNG)");
}

}  // namespace kusari::datasets

#endif
