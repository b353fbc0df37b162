#include "kusari/framework/datasets/image/jpeg.h"

#include <algorithm>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/datasets/image/pixels.h"
#include "kusari/framework/datasets/transforms/crop.h"

#ifdef KUSARI_WITH_JPEG

#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include <jerror.h>
#include <jpeglib.h>

#ifndef JCS_EXTENSIONS
#error "jpeglib.h is not libjpeg-turbo's: install that (Debian: libjpeg-dev), or configure with -DKUSARI_JPEG=OFF"
#endif

namespace kusari::datasets {
namespace {

// A file of some kilobytes may hold hundreds of scans of a huge image, each of which takes a second.
constexpr int kMaxScans = 200;
constexpr int64_t kMaxScannedPixels = int64_t{1} << 33;
constexpr int kMinScans = 20;  // that any size may have; encoders make about 10

/// libjpeg's decompressor. It reports errors by longjmp: each step that calls it is a function without objects to
/// destroy, gives false on an error, and message() says which.
class Decompressor {
 public:
  Decompressor(std::span<const uint8_t> bytes, const DecodeOptions& options) : options_{options} {
    info_.err = jpeg_std_error(&errors_);
    info_.client_data = this;
    errors_.error_exit = [](j_common_ptr info) {
      self(info).keep_message();
      std::longjmp(self(info).escape_, 1);
    };
    errors_.emit_message = [](j_common_ptr info, int level) {
      const bool warning = level < 0;
      const bool harmless = info->err->msg_code == JWRN_JFIF_MAJOR;  // a revision of the file format that is unknown
      if (warning && !harmless && !self(info).options_.tolerate_damage) info->err->error_exit(info);
    };
    errors_.output_message = [](j_common_ptr) {};
    progress_.progress_monitor = [](j_common_ptr info) {
      Decompressor& me = self(info);
      if (me.info_.input_scan_number <= me.max_scans_) return;
      std::snprintf(me.message_, sizeof(me.message_), "more than %d scans", me.max_scans_);
      std::longjmp(me.escape_, 1);
    };
    created_ = create(bytes);
  }
  ~Decompressor() { jpeg_destroy_decompress(&info_); }
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;

  bool read_header() {
    if (!created_) return false;
    if (setjmp(escape_)) return false;
    jpeg_read_header(&info_, TRUE);
    return true;
  }

  /// Settles what comes out, and the scale.
  bool start() {
    if (setjmp(escape_)) return false;
    jpeg_start_decompress(&info_);
    return true;
  }

  /// Leaves out what lies above and beside `part` of the scaled image, but for a margin that makes its pixels the same
  /// as those of the whole: upsampling looks at the neighbours. The part then begins at column part.left - first_column
  /// of the rows that remain.
  bool skip_to(const transforms::Window& part, int64_t& first_column) {
    constexpr int64_t kMargin = 16;
    JDIMENSION first = static_cast<JDIMENSION>(std::max<int64_t>(0, part.left - kMargin));
    JDIMENSION width = static_cast<JDIMENSION>(
        std::min<int64_t>(info_.output_width - first, part.left + part.size.width + kMargin - first));
    if (setjmp(escape_)) return false;
    if (width < info_.output_width) jpeg_crop_scanline(&info_, &first, &width);
    if (part.top > 0) jpeg_skip_scanlines(&info_, static_cast<JDIMENSION>(part.top));
    first_column = first;
    return true;
  }

  /// The next `height` rows, of each row_bytes from byte `begin` on; and the end of the file, if that follows.
  bool read_rows(uint8_t* out, size_t begin, size_t row_bytes, int64_t height) {
    constexpr unsigned kRows = 4;
    // Where rows lie at multiples of 16 or 32 bytes, libjpeg-turbo writes them past the caches, and who reads the image
    // next waits for main memory (a mirrored 224x224 copy: 126 us instead of 23). So it writes elsewhere.
    constexpr size_t kUnaligned = 8;
    const size_t pitch = (size_t{info_.output_width} * static_cast<size_t>(info_.output_components) + 63) / 64 * 64;
    rows_.resize(kRows * pitch + 64 + kUnaligned);
    uint8_t* const buffer = rows_.data() + (64 - reinterpret_cast<uintptr_t>(rows_.data()) % 64) + kUnaligned;
    if (setjmp(escape_)) return false;
    rows_read_ = 0;
    while (rows_read_ < height) {
      JSAMPROW rows[kRows];
      for (unsigned i = 0; i < kRows; ++i) rows[i] = buffer + i * pitch;
      const auto wanted = static_cast<JDIMENSION>(std::min<int64_t>(kRows, height - rows_read_));
      const JDIMENSION count = jpeg_read_scanlines(&info_, rows, wanted);
      for (JDIMENSION i = 0; i < count; ++i, ++rows_read_) {
        std::memcpy(out + static_cast<size_t>(rows_read_) * row_bytes, rows[i] + begin, row_bytes);
      }
    }
    if (info_.output_scanline == info_.output_height) jpeg_finish_decompress(&info_);
    return true;
  }

  /// The same where libjpeg gives CMYK: `channels` are 3 or 4, the fourth opaque.
  bool read_rows_rows(uint8_t* out, int channels) {
    rows_.resize(size_t{4} * info_.output_width);
    if (setjmp(escape_)) return false;
    while (info_.output_scanline < info_.output_height) {
      uint8_t* to = out + size_t{info_.output_scanline} * info_.output_width * static_cast<size_t>(channels);
      JSAMPROW row = rows_.data();
      jpeg_read_scanlines(&info_, &row, 1);
      convert_cmyk(to, channels);
    }
    jpeg_finish_decompress(&info_);
    return true;
  }

  jpeg_decompress_struct& info() { return info_; }
  const char* message() const { return message_; }
  void limit_scans() {
    const int64_t pixels = std::max<int64_t>(1, int64_t{info_.image_width} * info_.image_height);
    max_scans_ = static_cast<int>(std::clamp<int64_t>(kMaxScannedPixels / pixels, kMinScans, kMaxScans));
  }

 private:
  static Decompressor& self(j_common_ptr info) { return *static_cast<Decompressor*>(info->client_data); }

  void keep_message() {
    char text[JMSG_LENGTH_MAX];
    errors_.format_message(reinterpret_cast<j_common_ptr>(&info_), text);
    std::snprintf(message_, sizeof(message_), "%s", text);
  }

  bool create(std::span<const uint8_t> bytes) {
    if (setjmp(escape_)) return false;
    jpeg_create_decompress(&info_);  // clears info_ but for err and client_data
    info_.progress = &progress_;
    jpeg_mem_src(&info_, bytes.data(), static_cast<unsigned long>(bytes.size()));
    return true;
  }

  void convert_cmyk(uint8_t* out, int channels) const {
    // Adobe's programs, which leave that marker, store how much ink is missing.
    const int flip = info_.saw_Adobe_marker ? 0 : 255;
    const uint8_t* in = rows_.data();
    for (unsigned x = 0; x < info_.output_width; ++x, in += 4, out += channels) {
      const int k = in[3] ^ flip;
      for (int c = 0; c < 3; ++c) out[c] = static_cast<uint8_t>(((in[c] ^ flip) * k + 127) / 255);
      if (channels == 4) out[3] = 255;
    }
  }

  const DecodeOptions& options_;
  jpeg_error_mgr errors_ = {};
  jpeg_progress_mgr progress_ = {};
  jpeg_decompress_struct info_ = {};
  std::jmp_buf escape_;
  bool created_ = false;
  int64_t rows_read_ = 0;  // a member, as longjmp makes local variables undefined
  int max_scans_ = kMaxScans;
  char message_[JMSG_LENGTH_MAX] = "";
  std::vector<uint8_t> rows_;  // that libjpeg writes to
};

/// The least number of bytes that the blocks of the image take: a bit for each coefficient that must be coded.
int64_t least_bytes(jpeg_decompress_struct& info) {
  if (info.arith_code) return 0;
  int64_t blocks = 0;
  for (int i = 0; i < info.num_components; ++i) {
    blocks += int64_t{info.comp_info[i].width_in_blocks} * info.comp_info[i].height_in_blocks;
  }
  return blocks * (info.progressive_mode ? 1 : 2) / 8;
}

/// The scale, in eighths, at which no side of the part is below `min_side`. Libjpeg-turbo has fast transforms for these
/// alone.
unsigned choose_scale(const transforms::Size& part, int64_t min_side) {
  const int64_t side = std::min(part.width, part.height);
  for (const unsigned eighths : {1U, 2U, 4U}) {
    if (min_side > 0 && (side * eighths + 7) / 8 >= min_side) return eighths;
  }
  return 8;
}

/// Where a part of the image lies in the scaled one: all pixels that it touches.
transforms::Window scaled(const transforms::Window& part, const jpeg_decompress_struct& info) {
  const int64_t scale = info.scale_num;
  const auto begin = [&](int64_t place) { return place * scale / 8; };
  const auto end = [&](int64_t place, int64_t limit) { return std::min(limit, (place * scale + 7) / 8); };
  const int64_t top = begin(part.top), left = begin(part.left);
  return {top,
          left,
          {end(part.top + part.size.height, info.output_height) - top,
           end(part.left + part.size.width, info.output_width) - left}};
}

/// How many channels come out of a file that has one, or colors.
int channels_of(ImageMode mode, bool grey) {
  switch (mode) {
    case ImageMode::grey:
      return 1;
    case ImageMode::rgb:
      return 3;
    case ImageMode::rgba:
      return 4;
    case ImageMode::unchanged:
      break;
  }
  return grey ? 1 : 3;
}

}  // namespace

Array decode_jpeg(std::span<const uint8_t> bytes, const DecodeOptions& options, const std::string& where) {
  Decompressor jpeg(bytes, options);
  jpeg_decompress_struct& info = jpeg.info();
  const auto fail = [&](const std::string& what) { throw IoError(where + what); };
  if (!jpeg.read_header()) fail(std::string("is damaged in its JPEG header: ") + jpeg.message());
  const std::string size = std::to_string(info.image_width) + "x" + std::to_string(info.image_height);
  if (int64_t{info.image_width} * info.image_height > options.max_pixels) {
    fail("has " + size + " pixels, more than max_pixels (" + std::to_string(options.max_pixels) + ")");
  }
  if (!options.tolerate_damage && least_bytes(info) > static_cast<int64_t>(bytes.size())) {
    fail("is cut off or damaged: its JPEG header promises " + size + " pixels, which do not fit into its " +
         std::to_string(bytes.size()) + " bytes");
  }
  jpeg.limit_scans();

  const bool grey = info.jpeg_color_space == JCS_GRAYSCALE;
  const bool cmyk = info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK;
  if (info.jpeg_color_space == JCS_UNKNOWN) {
    fail("has " + std::to_string(info.num_components) + " JPEG components of unknown meaning: 1, 3 and 4 can be read");
  }
  const int channels = channels_of(options.mode, grey);
  const transforms::Size whole_size(info.image_height, info.image_width);
  transforms::Window part{0, 0, whole_size};
  if (options.window) {
    part = options.window(whole_size);
    transforms::detail::check_window("decode_image", part, whole_size);
  }
  info.scale_num = choose_scale(part.size, options.min_side);
  info.scale_denom = 8;
  info.out_color_space = cmyk ? JCS_CMYK : channels == 1 ? JCS_GRAYSCALE : channels == 3 ? JCS_RGB : JCS_EXT_RGBA;
  if (!jpeg.start()) fail(std::string("is damaged in its JPEG data: ") + jpeg.message());
  part = scaled(part, info);
  const int decoded_channels = cmyk && channels == 1 ? 3 : channels;
  // Where a colour sample of a reduced image stands for more than four pixels, libjpeg-turbo 2.1 upsamples parts
  // wrongly.
  const bool is_coarse = info.scale_num < info.scale_denom && info.max_h_samp_factor * info.max_v_samp_factor > 4;
  const bool decodes_whole = cmyk || is_coarse;
  const transforms::Window decoded =
      decodes_whole ? transforms::Window{0, 0, transforms::Size(info.output_height, info.output_width)} : part;
  Array image = transforms::empty_image(decoded_channels, decoded.size, Dtype::uint8);
  uint8_t* const pixels = image.data<uint8_t>();
  if (options.tolerate_damage) std::fill_n(pixels, image.size(), uint8_t{0});
  bool is_sound;
  if (cmyk) {
    is_sound = jpeg.read_rows_rows(pixels, decoded_channels);
  } else {
    int64_t first_column = 0;
    const auto pixel_bytes = static_cast<size_t>(decoded_channels);
    is_sound = jpeg.skip_to(decoded, first_column) &&
               jpeg.read_rows(pixels, static_cast<size_t>(decoded.left - first_column) * pixel_bytes,
                              static_cast<size_t>(decoded.size.width) * pixel_bytes, decoded.size.height);
  }
  if (!is_sound && !options.tolerate_damage) {
    fail("is damaged in its JPEG data, at row " + std::to_string(info.output_scanline) + " of " +
         std::to_string(info.output_height) + ": " + jpeg.message());
  }
  if (cmyk && channels == 1) image = rgb_to_grey(image);
  return decodes_whole ? transforms::Crop{part}(image) : image;
}

}  // namespace kusari::datasets

#else

namespace kusari::datasets {

Array decode_jpeg(std::span<const uint8_t>, const DecodeOptions&, const std::string& where) {
  throw IoError(where +
                "is a JPEG file, and this build has no libjpeg-turbo: install it (Debian: libjpeg-dev) and build "
                "Kusari again (CMake option KUSARI_JPEG)");
}

}  // namespace kusari::datasets

#endif
