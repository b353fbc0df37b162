#pragma once

// Makers of image files and archives for the tests of their readers.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <zlib.h>
#ifdef KUSARI_WITH_JPEG
#include <jpeglib.h>
#endif
#ifdef KUSARI_WITH_PNG
#include <png.h>
#endif

namespace kusari::testing {

using Bytes = std::vector<uint8_t>;

inline std::string as_string(const Bytes& bytes) { return {bytes.begin(), bytes.end()}; }
inline Bytes as_bytes(const std::string& text) { return {text.begin(), text.end()}; }

#ifdef KUSARI_WITH_JPEG

struct JpegSpec {
  int width = 0, height = 0;
  J_COLOR_SPACE input = JCS_RGB;     // what the samples are
  J_COLOR_SPACE file = JCS_UNKNOWN;  // what they become; JCS_UNKNOWN: libjpeg's choice
  int quality = 90;
  bool progressive = false;
  bool subsampled = true;    // chroma at half size, libjpeg's default
  int luma_factors[2] = {};  // along the width and the height, where not those of `subsampled`
  bool adobe_marker = true;  // with CMYK and YCCK
  Bytes app1 = {};           // content of an APP1 segment
};

/// samples: rows of pixels of `spec.input`.
inline Bytes encode_jpeg(const JpegSpec& spec, Bytes samples) {
  jpeg_compress_struct info = {};
  jpeg_error_mgr errors;
  info.err = jpeg_std_error(&errors);  // ends the program on an error
  jpeg_create_compress(&info);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &memory, &size);
  info.image_width = static_cast<JDIMENSION>(spec.width);
  info.image_height = static_cast<JDIMENSION>(spec.height);
  info.in_color_space = spec.input;
  info.input_components = spec.input == JCS_GRAYSCALE ? 1 : spec.input == JCS_CMYK ? 4 : 3;
  jpeg_set_defaults(&info);
  if (spec.file != JCS_UNKNOWN) jpeg_set_colorspace(&info, spec.file);
  if (!spec.adobe_marker) info.write_Adobe_marker = FALSE;
  jpeg_set_quality(&info, spec.quality, TRUE);
  if (!spec.subsampled) info.comp_info[0].h_samp_factor = info.comp_info[0].v_samp_factor = 1;
  if (spec.luma_factors[0] > 0) {
    info.comp_info[0].h_samp_factor = spec.luma_factors[0];
    info.comp_info[0].v_samp_factor = spec.luma_factors[1];
  }
  if (spec.progressive) jpeg_simple_progression(&info);
  jpeg_start_compress(&info, TRUE);
  if (!spec.app1.empty()) {
    jpeg_write_marker(&info, JPEG_APP0 + 1, spec.app1.data(), static_cast<unsigned>(spec.app1.size()));
  }
  while (info.next_scanline < info.image_height) {
    JSAMPROW row =
        samples.data() + size_t{info.next_scanline} * info.image_width * static_cast<size_t>(info.input_components);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  Bytes bytes(memory, memory + size);
  jpeg_destroy_compress(&info);
  std::free(memory);
  return bytes;
}

/// libjpeg-turbo's pixels at its default settings, in `space`.
inline Bytes plain_decode_jpeg(const Bytes& bytes, J_COLOR_SPACE space, unsigned eighths = 8) {
  jpeg_decompress_struct info = {};
  jpeg_error_mgr errors;
  info.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, bytes.data(), bytes.size());
  jpeg_read_header(&info, TRUE);
  info.out_color_space = space;
  info.scale_num = eighths;
  info.scale_denom = 8;
  jpeg_start_decompress(&info);
  const size_t row_bytes = size_t{info.output_width} * static_cast<size_t>(info.output_components);
  Bytes pixels(row_bytes * info.output_height);
  while (info.output_scanline < info.output_height) {
    JSAMPROW row = pixels.data() + info.output_scanline * row_bytes;
    jpeg_read_scanlines(&info, &row, 1);
  }
  jpeg_finish_decompress(&info);
  jpeg_destroy_decompress(&info);
  return pixels;
}

#endif

#ifdef KUSARI_WITH_PNG

struct PngSpec {
  int width = 0, height = 0;
  int color_type = PNG_COLOR_TYPE_RGB;
  int depth = 8;
  bool interlaced = false;
  std::vector<png_color> palette = {};
  Bytes palette_alpha = {};  // tRNS of a palette
  int grey_key = -1;         // tRNS of a grey image
  Bytes exif = {};
};

/// samples: one number for each, rows of pixels.
inline Bytes encode_png(const PngSpec& spec, const std::vector<uint16_t>& samples) {
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  Bytes bytes;
  png_set_write_fn(
      png, &bytes,
      [](png_structp p, png_bytep data, size_t size) {
        Bytes& out = *static_cast<Bytes*>(png_get_io_ptr(p));
        out.insert(out.end(), data, data + size);
      },
      [](png_structp) {});
  png_set_IHDR(png, info, static_cast<png_uint_32>(spec.width), static_cast<png_uint_32>(spec.height), spec.depth,
               spec.color_type, spec.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_BASE,
               PNG_FILTER_TYPE_BASE);
  if (!spec.palette.empty()) png_set_PLTE(png, info, spec.palette.data(), static_cast<int>(spec.palette.size()));
  if (!spec.palette_alpha.empty()) {
    png_set_tRNS(png, info, spec.palette_alpha.data(), static_cast<int>(spec.palette_alpha.size()), nullptr);
  }
  if (spec.grey_key >= 0) {
    png_color_16 key = {};
    key.gray = static_cast<png_uint_16>(spec.grey_key);
    png_set_tRNS(png, info, nullptr, 0, &key);
  }
  Bytes exif = spec.exif;
  if (!exif.empty()) png_set_eXIf_1(png, info, static_cast<png_uint_32>(exif.size()), exif.data());
  png_write_info(png, info);
  if (spec.depth < 8) png_set_packing(png);  // from a byte for each sample
  png_set_interlace_handling(png);
  Bytes packed;
  for (uint16_t sample : samples) {
    if (spec.depth == 16) packed.push_back(static_cast<uint8_t>(sample >> 8));
    packed.push_back(static_cast<uint8_t>(sample));
  }
  std::vector<png_bytep> rows;
  const size_t row_bytes = packed.size() / static_cast<size_t>(spec.height);
  for (int y = 0; y < spec.height; ++y) rows.push_back(packed.data() + static_cast<size_t>(y) * row_bytes);
  png_write_image(png, rows.data());
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return bytes;
}

#endif

/// The EXIF block (a TIFF structure) that holds the orientation alone.
inline Bytes exif_orientation(int value, bool little_endian) {
  Bytes bytes;
  const auto put = [&](uint32_t number, int size) {
    for (int i = 0; i < size; ++i) {
      bytes.push_back(static_cast<uint8_t>(number >> (8 * (little_endian ? i : size - 1 - i))));
    }
  };
  bytes = little_endian ? Bytes{'I', 'I'} : Bytes{'M', 'M'};
  put(42, 2);
  put(8, 4);       // where the directory is
  put(1, 2);       // its number of fields
  put(0x0112, 2);  // Orientation
  put(3, 2);       // SHORT
  put(1, 4);
  put(static_cast<uint32_t>(value), 2);
  put(0, 2);
  put(0, 4);  // no further directory
  return bytes;
}

/// The content of a JPEG's APP1 segment with that.
inline Bytes exif_app1(const Bytes& tiff) {
  Bytes bytes = {'E', 'x', 'i', 'f', 0, 0};
  bytes.insert(bytes.end(), tiff.begin(), tiff.end());
  return bytes;
}

inline std::string gzip(const std::string& content) {
  z_stream z = {};
  deflateInit2(&z, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&z, static_cast<uLong>(content.size())) + 64, '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  z.avail_in = static_cast<uInt>(content.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  deflate(&z, Z_FINISH);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

/// One member of a tar archive: USTAR header and padded content.
inline std::string tar_member(const std::string& name, const std::string& content, char type = '0',
                              const std::string& prefix = "",
                              const std::string& magic = std::string("ustar\0"
                                                                     "00",
                                                                     8)) {
  std::string block(512, '\0');
  block.replace(0, std::min<size_t>(name.size(), 100), name.substr(0, 100));
  char number[16];
  std::snprintf(number, sizeof(number), "%07o", 0644);
  block.replace(100, 7, number);
  std::snprintf(number, sizeof(number), "%011zo", content.size());
  block.replace(124, 11, number);
  block[156] = type;
  block.replace(257, 8, magic);
  block.replace(345, prefix.size(), prefix);
  const auto seal = [&] {
    block.replace(148, 8, 8, ' ');
    unsigned sum = 0;
    for (char c : block) sum += static_cast<unsigned char>(c);
    char digits[16];
    std::snprintf(digits, sizeof(digits), "%06o", sum);
    block.replace(148, 6, digits);
    block[154] = '\0';
  };
  seal();
  return block + content + std::string((512 - content.size() % 512) % 512, '\0');
}

inline std::string tar_end() { return std::string(1024, '\0'); }

}  // namespace kusari::testing
